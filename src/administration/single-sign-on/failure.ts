/** A sign-in that was not completed. The message is shown to the person. */
export class SignInFailure extends Error {
  override name = 'SignInFailure';
  /** Status of the page with the message. */
  readonly status: number;

  constructor(message: string, { status = 403, cause }: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.status = status;
  }
}
