// A cell's code in CodeMirror: Shift + Enter runs it, Escape then Tab leaves it.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// By class, so that the page's style sheet has one set of colours for light and one for dark.
const colours = HighlightStyle.define(
  Object.entries({
    keyword: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword],
    string: [tags.string, tags.special(tags.string)],
    number: [tags.number, tags.bool, tags.null],
    comment: [tags.comment],
    name: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)],
  }).map(([name, tag]) => ({ tag, class: `live-${name}` })),
);

export class Editor {
  constructor(host, text, { label, onChange, onRun }) {
    const run = (stay) => () => {
      onRun(stay);
      return true;
    };
    this.view = new EditorView({
      parent: host,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([
            { key: "Shift-Enter", run: run(false) },
            { key: "Mod-Enter", run: run(true) },
            { key: "Escape", run: ({ contentDOM }) => (contentDOM.blur(), true) },
            indentWithTab,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          history(),
          drawSelection(),
          EditorView.lineWrapping, // nothing to scroll sideways, on a phone too
          indentOnInput(),
          bracketMatching(),
          indentUnit.of("    "),
          EditorState.tabSize.of(4),
          python(),
          syntaxHighlighting(colours),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => update.docChanged && onChange(this.text)),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  focus() {
    this.view.focus();
  }
}
