/**
 * Installs the service worker, which shows the last state of the page while the service does not respond. Browsers have service
 * workers on secure connections only.
 */
export function installWorker(): void {
  if (!('serviceWorker' in navigator) || !import.meta.env.PROD) return;
  // After the page is loaded, so that the worker's downloads do not delay it.
  const install = () => void navigator.serviceWorker.register('/service-worker.js').catch(() => undefined);
  if (document.readyState === 'complete') install();
  else addEventListener('load', install, { once: true });
}
