// Asks the service worker of the site to keep it for a reader without a network.

/** Keep these files of the site, given by their paths, or all of them. Says in the page's root when they are. */
export async function keep(site, paths) {
  if (navigator.connection?.saveData || !navigator.serviceWorker) return; // not over http, except on this computer itself
  try {
    navigator.serviceWorker.addEventListener("message", ({ data }) => {
      if (data?.kept) document.documentElement.dataset.kept = data.kept;
    });
    await navigator.serviceWorker.register(new URL("offline.js", site));
    const { active } = await navigator.serviceWorker.ready;
    active.postMessage(paths ? { paths } : {});
  } catch {
    // where storage is refused nothing is kept
  }
}
