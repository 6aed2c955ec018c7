"""What `viz.diagnose` found, as data that shows itself: in Jupyter, in a terminal, as one page, as JSON."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from viz.diagnosis.change import applied
from viz.diagnosis.finding import GROUPS, Finding
from viz.diagnosis.observation import Observation
from viz.recording.passes import ELSEWHERE
from viz.recording.project import Project
from viz.recording.recording import finite
from viz.telling.explain import explain

SCHEMA = 1
WIDEST = 100  # characters of a line of prose
ON_CPU = 'run the program with device="cpu", or take `.cuda()` out.'
WHOLE_STEP = "Give the whole training step, from the forward pass to backward()."
NO_GPU = re.compile(
    r"(?i)not compiled with CUDA|no NVIDIA driver|No CUDA GPUs|not linked with support for mps|object on a CUDA"
)


class Report:
    """The findings of one run, the most likely cause first.

    It shows itself in Jupyter, and `save(path)` writes it as a page (`.html`) or as `.json`: `viz/show.py` binds both.

    Attributes:
        findings: what was found.
        error: what the program raised, as a dict of `type`, `message` and `line`; None if it ran to its end.
        stdout: what the program printed.
        observation: everything that was seen, as compact data.
    """

    save: ClassVar[Callable[..., Path]]
    _repr_mimebundle_: ClassVar[Callable[..., dict[str, str]]]

    def __init__(self, observation: Observation, findings: list[Finding], stdout: str = "") -> None:
        self.observation = observation
        self.findings = findings
        self.error = observation.error
        self.stdout = stdout
        self.engine = observation.engine
        self.program = program = observation.places.source
        self.place: Callable[[int | None], str] = program.told  # a line, as the author of the program counts it
        self.several = isinstance(program, Project)  # whether lines are named by their files
        for finding in findings if self.several else ():
            path, number = program.place(finding.line or 1)
            finding.where = (path, number) if path else None

    @property
    def looked_at(self) -> str:
        """What was examined, in one sentence."""
        seen = self.observation
        ops, passes = _count(len(seen.ops), "op"), _count(len(seen.passes), "backward pass", "es")
        steps = _count(seen.steps, "optimizer step")
        tensors = _count(sum(leaf.requires_grad for leaf in seen.leaves), "tensor")
        told = f"Looked at {ops}, {passes}, {steps} and {tensors} with requires_grad, on {self.engine}."
        if seen.cut:
            told += f" {_count(seen.unwatched, 'further backward pass', 'es')} ran unwatched, to keep the cost low."
        if seen.troubles:
            told += f" {_count(len(seen.troubles), 'thing')} could not be examined: {seen.troubles[0]}."
        return told

    @property
    def source(self) -> list[str]:
        """The program's lines."""
        return self.observation.places.text.splitlines()

    def to_json(self) -> str:
        """The report as JSON text."""
        findings = [finding.as_data(self.source) for finding in self.findings]
        # The source is the script, then each file that it imports; `file` and `file_line` locate a line.
        data = {"schema": SCHEMA, "engine": self.engine, "source": self.source, "looked_at": self.looked_at}
        data |= {"groups": list(GROUPS.values()), "findings": findings, "error": self.error, "stdout": self.stdout}
        return json.dumps(finite(data), ensure_ascii=False, indent=1)

    def repaired(self, finding: Finding | None = None) -> str:
        """The program's text with the fix of a finding, by default of the first.

        Raises:
            ValueError: there is none, or its fix cannot be written as code.

        >>> import viz
        >>> report = viz.diagnose("w = T.tensor(0.0, requires_grad=True)\\nT.sqrt(w).backward()")
        >>> print(report.repaired())
        w = T.tensor(0.0, requires_grad=True)
        T.sqrt(w + 1e-8).backward()
        """
        chosen = finding or next(iter(self.findings), None)
        if chosen is None or not chosen.changes:
            raise ValueError("nothing was found that has a fix as code: `finding.fix` says in words what to do")
        return applied(self.observation.places.text, chosen.changes)

    def __repr__(self) -> str:
        lines = [self.headline]
        for number, finding in enumerate(self.findings, 1):
            where = self.place(finding.line) if finding.line is not None else "no line of the program"
            lines += ["", f"{number}. {finding.kind} · {where} · {finding.sure}"]
            if code := self.observation.places.code(finding.line):
                lines.append(f"   {self.program.place(finding.line or 1)[1]:>4} | {code}")
            for kind, text in self.told_of(finding):
                lines += [f"      {text}"] if kind == "change" else _wrapped(f"Fix: {text}" if kind == "fix" else text)
        lines += ["", *_wrapped(self.looked_at, ""), *([self.ended] if self.ended else [])]
        return "\n".join(lines)

    def told_of(self, finding: Finding) -> Iterator[tuple[str, str]]:
        """The text below the line of a finding: each part with its kind, which is `fix`, `change`, `soft` or none."""
        code, message = self.observation.places.code(finding.line), finding.message
        if code:  # it stands above
            message = re.sub(rf"^(Line {finding.line}), `{re.escape(code)}`,?", r"\1", message)
        yield "", self.told(message)
        if finding.where is not None and not self.several:
            yield "soft", f"The code that ran is in {finding.where[0]}:{finding.where[1]}."
        yield "fix", self.told(finding.fix)
        for change in finding.changes:
            if len(finding.changes) > 1 or change.line != finding.line:
                yield "change", f"{self.place(change.line)}:"
            yield from (("change", line) for line in change.shown())
        if finding.tried:
            yield "soft", self.told(finding.tried)

    @property
    def ended(self) -> str:
        """What the program raised, and for an error of the machine what to do; empty where it ran to its end."""
        if self.error is None:
            return ""
        at = "" if self.error["line"] is None else f" in {self.place(self.error['line'])}"
        told = f"It ended with {self.error['type']}{at}: {self.error['message']}"
        if not any(finding.explains_error for finding in self.findings):
            told = f"{told} {explain(self.error['type'], self.error['message'])}".rstrip()
        if NO_GPU.search(told) and self.engine == "torch":
            told += f". This machine has no GPU that PyTorch can use: {ON_CPU}"
        return told

    def told(self, text: str) -> str:
        """A sentence with line numbers as the program's author counts them."""

        def placed(match: re.Match[str]) -> str:
            place = self.place(int(match[2]))
            return place if match[1] == "l" else place[0].upper() + place[1:]

        return re.sub(r"\b([Ll])ine (\d+)", placed, text)

    @property
    def headline(self) -> str:
        """The number of findings, in one sentence."""
        seen = self.observation
        if not self.findings and not (seen.passes or seen.steps):
            ran = f"no backward pass and no optimizer step ran. {WHOLE_STEP}"
            if seen.left_thread:
                ran = f"the program started {ELSEWHERE}"
            ended = "the program ended with an error before any backward pass."
            return f"Nothing could be judged: {ran if self.error is None else ended}"
        if not self.findings:
            ended = " up to its error" if self.error is not None else ""
            unknown = "whether the targets belong to the inputs, whether the loss measures what you want"
            scaled = "or whether the data are scaled as they should be."
            return f"Nothing was found{ended}. That cannot tell {unknown}, {scaled}"
        if len(self.findings) == 1:
            return f"1 finding, {self.findings[0].sure}."
        sure = sum(finding.certain for finding in self.findings)
        return f"{_count(len(self.findings), 'finding')}, {sure} of them certain; the most likely cause first."


def width() -> int:
    """The characters of a line: those of the terminal if it is narrower than a page."""
    return max(40, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def _count(count: int, name: str, many: str = "s") -> str:
    return f"{count:,} {name}{many if count != 1 else ''}"


def _wrapped(text: str, indent: str = "   ") -> list[str]:
    lines = textwrap.wrap(text, width() - len(indent), break_on_hyphens=False)
    return [indent + line for line in lines]
