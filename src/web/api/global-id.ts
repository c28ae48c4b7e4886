/**
 * Returns the global ID of an object from its number in a link. The page may construct global IDs, because it is built together
 * with the service. Other clients treat global IDs as opaque.
 */
export const globalId = (typename: 'Channel' | 'Message' | 'User' | 'UserGroup', number: string): string =>
  btoa(`${typename}:${number}`);
