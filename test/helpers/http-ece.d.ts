/** The parts of the package that the tests use. The package contains no types. */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto';

  export function decrypt(
    body: Buffer,
    parameters: { readonly version: string; readonly privateKey: ECDH; readonly authSecret: string },
  ): Buffer;
}
