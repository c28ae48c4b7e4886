import { escapeAttribute } from './escape.ts';
import type { Preview } from './rendering.ts';
import type { DirectoryUpload, RenderOptions } from './types.ts';

/** Media types of videos that have a preview. All browsers play these formats. */
const VIDEO = /^video\/(?:mp4|webm)$/;
/** Media types of sounds that have a player. */
const AUDIO = /^audio\/(?:aac|flac|mp4|mpeg|ogg|wav|webm)$/;

/** Returns the kind of the preview of an uploaded file. Undefined if it has none. */
export function kindOf({ image, mediaType }: DirectoryUpload): 'image' | 'video' | undefined {
  if (image !== null) return 'image';
  return VIDEO.test(mediaType) ? 'video' : undefined;
}

/** Returns the HTML of an image or video below a block. */
export function previewHtml({ url, title, upload }: Preview, { imageAddress }: RenderOptions): string {
  const href = escapeAttribute(url);
  const thumbnail = upload?.image ?? null;
  if (upload !== undefined && thumbnail === null) {
    const source = escapeAttribute(upload.url);
    return (
      `<div class="message_inline_image message_inline_video"><a href="${href}">` +
      `<video preload="metadata" src="${source}"></video></a></div>`
    );
  }
  const titled = title === undefined ? '' : ` title="${escapeAttribute(title)}"`;
  const original = upload === undefined ? '' : originalAttributes(upload);
  const source = escapeAttribute(thumbnail?.url ?? imageAddress?.(url) ?? url);
  return `<div class="message_inline_image"><a href="${href}"${titled}><img${original} src="${source}"></a></div>`;
}

/**
 * Returns the HTML of an uploaded file within a text: an image, or a player of a sound.
 *
 * @param label Alternative text of the image, or name of the sound. "" for the name of the file of a sound.
 * @returns Undefined for other files.
 */
export function mediaHtml(upload: DirectoryUpload, label: string): string | undefined {
  const { url, name, mediaType, image } = upload;
  const source = escapeAttribute(url);
  if (AUDIO.test(mediaType)) {
    return `<audio controls preload="metadata" src="${source}" title="${escapeAttribute(label || name)}"></audio>`;
  }
  if (image === null) return undefined;
  return (
    `<img alt="${escapeAttribute(label)}" class="inline-image"${originalAttributes({ mediaType, image })} ` +
    `data-original-src="${source}" src="${escapeAttribute(image.url)}">`
  );
}

/** Returns the attributes of a thumbnail with the size and type of the whole image. */
function originalAttributes({ mediaType, image }: Pick<DirectoryUpload, 'mediaType' | 'image'>): string {
  if (image === null) return '';
  const animated = image.isAnimated ? ' data-animated="true"' : '';
  return (
    ` data-original-dimensions="${image.width}x${image.height}"` +
    ` data-original-content-type="${escapeAttribute(mediaType)}"${animated}`
  );
}
