/** Header of a response that the service worker has stored earlier, because the service does not respond now. */
export const OFFLINE_HEADER = 'X-Offline';
/** Name of the browser's cache with the stored responses. */
export const OFFLINE_DATA = 'data';
