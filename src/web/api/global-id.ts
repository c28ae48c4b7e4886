/**
 * Returns the global ID of an object that a link names by its number. The page may construct it because page and service are
 * one build. Other clients treat global IDs as opaque.
 */
export const globalId = (typename: 'Channel' | 'Message' | 'User', number: string): string =>
  btoa(`${typename}:${number}`);
