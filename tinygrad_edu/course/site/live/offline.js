// A service worker: once a page of the site was visited, the site stays readable, and its Python runs, without a network.
//
// Online the network answers, so nobody reads an old page; what was kept answers only where it does not. `pages.py` writes the
// list below: each file of the site, and the hash of its content. Another list is another worker, which fetches what changed.
const FILES = {};
const STORE = "tinygrad-edu-site";
const HOME = self.registration.scope;

addEventListener("install", () => self.skipWaiting());
addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

const keyOf = (path) => `${HOME}${path}?kept=${FILES[path]}`;

async function hashOf(content) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return [...digest].map((one) => one.toString(16).padStart(2, "0")).join("").slice(0, 16);
}

/** A file as the list has it. The browser's own cache may have an older one: then it is asked for once more. */
async function fetched(path) {
  for (const cache of ["default", "reload"]) {
    const answer = await fetch(HOME + path, { cache });
    const content = await answer.arrayBuffer();
    if (answer.ok && (await hashOf(content)) === FILES[path]) return new Response(content, { headers: answer.headers });
  }
  throw new Error(`${path} is not what this version of the site has`);
}

/** Keep these files, and no other version of any. Returns how many are kept now. */
async function keep(paths) {
  const store = await caches.open(STORE);
  const wanted = new Set(Object.keys(FILES).map(keyOf));
  for (const { url } of await store.keys()) if (!wanted.has(url)) await store.delete(url);
  for (const path of paths) {
    if (path in FILES && !(await store.match(keyOf(path)))) await store.put(keyOf(path), await fetched(path));
  }
  return (await store.keys()).length;
}

let work = Promise.resolve();
addEventListener("message", (event) => {
  const { paths = Object.keys(FILES) } = event.data;
  work = work.then(() => keep(paths)).then((kept) => event.source.postMessage({ kept }), (error) => event.source.postMessage({ refused: String(error.message ?? error) }));
  event.waitUntil(work);
});

async function kept(request) {
  const path = new URL(request.url).pathname.slice(new URL(HOME).pathname.length);
  const store = await caches.open(STORE);
  for (const one of [path, `${path}index.html`]) {
    const found = await store.match(`${HOME}${one}`, { ignoreSearch: true });
    if (found) return found;
  }
  return Response.error();
}

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(HOME)) event.respondWith(fetch(request).catch(() => kept(request)));
});
