/**
 * Copies a text to the clipboard.
 *
 * @returns Whether the text was copied. False if the browser refuses it, and on insecure connections, which have no clipboard.
 */
export async function copyText(text: string): Promise<boolean> {
  const { clipboard }: { readonly clipboard?: Clipboard } = navigator;
  if (clipboard === undefined) return false;
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}
