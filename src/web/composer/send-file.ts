/** Address at which the service receives files. GraphQL uploads are limited to 5 MiB and report no progress. */
const ADDRESS = '/api/v1/user_uploads';
/** Time in milliseconds without any progress after which an upload is given up. */
const SILENT_MS = 60_000;
/** Longest time in milliseconds that the page waits for the media type of a stored file. */
const TYPE_MS = 5_000;

/** A file that the service has stored. */
export interface SentFile {
  readonly name: string;
  /** Path of the file on this host. */
  readonly url: string;
  /** Media type that the service has found for a sound or a video. For other files, the type that the browser gives them. */
  readonly mediaType: string;
}

/** Result of an upload: the stored file, or the reason of the refusal. `isForNow`: the user can try again. */
export type SendResult = SentFile | { readonly reason: string; readonly isForNow: boolean };

/**
 * Sends a file to the service.
 *
 * @param onProgress Called with the part of the file that was sent, from 0 to 1.
 * @returns The pending result, and a function that cancels the upload. After that, the result never arrives.
 */
export function sendFile(
  file: File,
  onProgress: (part: number) => void,
): { readonly result: Promise<SendResult>; readonly cancel: () => void } {
  // `fetch` reports no progress of a body.
  const request = new XMLHttpRequest();
  const { promise, resolve } = Promise.withResolvers<SendResult>();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      request.abort();
      resolve(OFFLINE);
    }, SILENT_MS);
  };
  request.open('POST', ADDRESS);
  request.upload.onprogress = ({ loaded, total }) => {
    wait();
    onProgress(total === 0 ? 0 : loaded / total);
  };
  let isCanceled = false;
  request.onload = async () => {
    const result = resultOf(request, file.type);
    const known = 'url' in result ? { ...result, mediaType: await storedType(result) } : result;
    if (!isCanceled) resolve(known);
  };
  request.onerror = () => resolve(OFFLINE);
  request.onloadend = () => clearTimeout(silence);
  const body = new FormData();
  body.append('file', file, file.name === '' ? 'file' : file.name);
  wait();
  request.send(body);
  return {
    result: promise,
    cancel: () => {
      isCanceled = true;
      clearTimeout(silence);
      request.abort();
    },
  };
}

const OFFLINE: SendResult = { reason: 'The connection was lost.', isForNow: true };

/**
 * Returns the media type that the service has found for a stored sound or video. The type of the browser depends on the name of
 * the file, and files with the same extension, such as `.webm`, can be sounds or videos. Returns the type of the browser if the
 * service does not answer within 5 s.
 */
async function storedType({ url, mediaType }: SentFile): Promise<string> {
  if (!/^(?:audio|video)\//.test(mediaType)) return mediaType;
  try {
    const { ok, headers } = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(TYPE_MS) });
    return (ok ? headers.get('content-type') : null) ?? mediaType;
  } catch {
    return mediaType;
  }
}

function resultOf({ status, responseText }: XMLHttpRequest, mediaType: string): SendResult {
  let answer: { url?: string; filename?: string; msg?: string } = {};
  try {
    answer = JSON.parse(responseText) as typeof answer;
  } catch {
    // A proxy in front of the service can respond with a page.
  }
  if (status === 200 && answer.url !== undefined)
    return { url: answer.url, name: answer.filename ?? 'file', mediaType };
  if (status === 413) return { reason: 'The file is too large.', isForNow: false };
  return { reason: answer.msg ?? `The upload failed (status ${status}).`, isForNow: status === 429 || status >= 500 };
}
