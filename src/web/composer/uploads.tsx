import { type ClipboardEvent, type DragEvent, useEffect, useMemo, useRef, useState } from 'react';
import { announce } from '../ui/announcer.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { type SentFile, sendFile } from './send-file.ts';
import './uploads.css';

/** A file that the user has attached. `part` is the part that was sent, from 0 to 1; 1 until its link is in the text. */
interface Upload {
  readonly id: number;
  readonly file: File;
  readonly part: number;
  readonly cancel: () => void;
  /** Address of a local preview of an image. Undefined for other files. */
  readonly picture: string | undefined;
  /** Reason of the refusal. Undefined while the file is sent. */
  readonly refusal: { readonly reason: string; readonly isForNow: boolean } | undefined;
}

/** The files that the user has attached, until each of them is linked in the text. */
export interface Uploads {
  readonly all: readonly Upload[];
  /** Whether a file is being sent. */
  readonly isSending: boolean;
  /** Starts to send files. */
  add(files: Iterable<File>): void;
  /** Cancels an upload, or removes one that failed. */
  remove(id: number): void;
  retry(id: number): void;
}

let last = 0;

/** Media types of sounds that messages play, as the service names them. */
const SOUND = /^audio\/(?:aac|flac|mp4|mpeg|ogg|wav|webm)$/;

/** Returns the Markdown of a stored file: a player for a sound, and a link for all others. */
function linkOf({ name, url, mediaType }: SentFile): string {
  const mark = SOUND.test(mediaType) ? '!' : '';
  return `${mark}[${name.replace(/[[\]\\`*<>]/g, '_')}](${url})`;
}

/**
 * Sends files that the user attaches to a message. Uploads end when the component is unmounted.
 *
 * @param onSent Called with the Markdown link of each file that was stored, in the order in which the user attached the files.
 */
export function useUploads(onSent: (link: string) => void): Uploads {
  const [all, setAll] = useState<readonly Upload[]>([]);
  const sent = useRef(onSent);
  sent.current = onSent;
  const current = useRef(all);
  current.current = all;
  useEffect(
    () => () => {
      for (const upload of current.current) forget(upload);
    },
    [],
  );
  const actions = useMemo(() => {
    const patch = (id: number, part: Partial<Upload>) =>
      setAll((uploads) => uploads.map((one) => (one.id === id ? { ...one, ...part } : one)));
    const drop = (id: number) =>
      setAll((uploads) => {
        const gone = uploads.find((one) => one.id === id);
        if (gone !== undefined) forget(gone);
        return uploads.filter((one) => one !== gone);
      });
    /** Links of the files that are being sent, in the order in which they were attached. Empty until a file is stored. */
    const links = new Map<number, string>();
    /** Passes on the links of stored files, up to the first file that is still being sent. */
    const passOn = () => {
      for (const [id, link] of links) {
        if (link === '') return;
        links.delete(id);
        drop(id);
        sent.current(link);
      }
    };
    const skip = (id: number) => {
      links.delete(id);
      passOn();
    };
    const start = (id: number, file: File) => {
      links.set(id, '');
      const { result, cancel } = sendFile(file, (part) => patch(id, { part }));
      void result.then((sentFile) => {
        if (!links.has(id)) return;
        if (!('url' in sentFile)) {
          announce(`${file.name} was not uploaded. ${sentFile.reason}`);
          patch(id, { refusal: sentFile });
          skip(id);
          return;
        }
        announce(`${sentFile.name} uploaded`);
        patch(id, { part: 1 });
        links.set(id, linkOf(sentFile));
        passOn();
      });
      return cancel;
    };
    return {
      remove(id: number) {
        drop(id);
        skip(id);
      },
      add(files: Iterable<File>) {
        for (const file of files) {
          last += 1;
          const id = last;
          const picture = /^image\/(?:png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : undefined;
          const upload = { id, file, picture, part: 0, refusal: undefined, cancel: () => undefined };
          setAll((uploads) => [...uploads, upload]);
          patch(id, { cancel: start(id, file) });
        }
      },
      retry(id: number) {
        const upload = current.current.find((one) => one.id === id);
        if (upload !== undefined) patch(id, { part: 0, refusal: undefined, cancel: start(id, upload.file) });
      },
    };
  }, []);
  return { all, isSending: all.some(({ refusal }) => refusal === undefined), ...actions };
}

function forget({ cancel, picture }: Upload): void {
  cancel();
  if (picture !== undefined) URL.revokeObjectURL(picture);
}

/** Returns event handlers that attach files which are pasted or dropped. */
export function fileHandlers({ add }: Pick<Uploads, 'add'>) {
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  return {
    onPaste(event: ClipboardEvent) {
      const { files } = event.clipboardData;
      // Office programs put a picture beside the text that the user copied. Then the text is pasted.
      if (files.length === 0 || event.clipboardData.types.includes('text/plain')) return;
      event.preventDefault();
      add(files);
    },
    onDragOver(event: DragEvent<HTMLElement>) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.currentTarget.dataset['dropping'] = '';
    },
    onDragLeave(event: DragEvent<HTMLElement>) {
      if (!(event.relatedTarget instanceof Node) || !event.currentTarget.contains(event.relatedTarget)) {
        delete event.currentTarget.dataset['dropping'];
      }
    },
    onDrop(event: DragEvent<HTMLElement>) {
      delete event.currentTarget.dataset['dropping'];
      if (!hasFiles(event)) return;
      event.preventDefault();
      add(event.dataTransfer.files);
    },
  };
}

/** List of the attached files that are not linked in the text yet, with their progress. */
export function UploadList({ all, remove, retry }: Uploads) {
  if (all.length === 0) return null;
  return (
    <ul className="uploads" aria-label="Uploads">
      {all.map(({ id, file, part, picture, refusal }) => (
        <li key={id} className="upload" data-failed={refusal !== undefined}>
          {picture === undefined ? <Icon name="clip" /> : <img src={picture} alt="" />}
          <div className="upload-text">
            <span className="upload-name">
              <bdi>{file.name}</bdi>
            </span>
            {refusal === undefined ? (
              <progress value={part} aria-label={`Upload of ${file.name}`} />
            ) : (
              <span className="upload-refusal">{refusal.reason}</span>
            )}
            <span className="soft">{sizeOf(file.size)}</span>
          </div>
          {refusal?.isForNow === true && (
            <button type="button" className="button button-quiet" onClick={() => retry(id)}>
              Try again
            </button>
          )}
          <IconButton
            icon="close"
            label={refusal === undefined ? `Cancel upload of ${file.name}` : `Remove ${file.name}`}
            onClick={() => remove(id)}
          />
        </li>
      ))}
    </ul>
  );
}

const UNITS = ['bytes', 'KB', 'MB', 'GB'];

/** Returns a size as text, such as "3.4 MB". */
function sizeOf(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const size = bytes / 1000 ** unit;
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}
