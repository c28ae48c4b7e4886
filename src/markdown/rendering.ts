import type { Directory, DirectoryUpload, RenderedMessage, RenderOptions } from './types.ts';

/** Maximum number of previews of images and videos in a text. If there are more, none is shown. */
const MAX_PREVIEWS = 24;

/**
 * An image or video to which a text links. It is shown below the block with the link, or replaces a block that is only the URL.
 */
export interface Preview {
  readonly url: string;
  /** Text of the link. Undefined if the text is the URL itself. */
  readonly title: string | undefined;
  /**
   * Placeholder of the link in the text of the block. Undefined unless the link is a bare link (a URL or email address in the
   * text, without link syntax).
   */
  readonly bare: string | undefined;
  /** The uploaded image or video. Undefined for an image of another website. */
  readonly upload: DirectoryUpload | undefined;
}

/** State of the rendering of one text: its inputs, its results so far, and the work done so far. */
export class Rendering {
  readonly directory: Directory | undefined;
  readonly options: RenderOptions;
  /** Whether code is not highlighted and formulas are not rendered. */
  readonly isPlain: boolean;
  /** Work done so far for code and formulas, in the units of the limits in code.ts and math.ts. */
  readonly spent = { code: 0, math: 0, mathHtml: 0 };
  readonly mentionedUserIds = new Set<number>();
  readonly mentionedGroupIds = new Set<number>();
  channelWildcard = false;
  topicWildcard = false;
  hasLink = false;
  readonly attachmentIds = new Set<number>();
  /** Whether the text has an image that is not a preview. */
  hasInlineImage = false;
  quoteDepth = 0;
  readonly #previewed = new Set<string>();
  #hasImagePreview = false;

  constructor({ directory, options, isPlain }: Pick<Rendering, 'directory' | 'options' | 'isPlain'>) {
    this.directory = directory;
    this.options = options;
    this.isPlain = isPlain;
  }

  /** Whether the current block is in a quote. In a quote, mentions are silent, and links show no images or players. */
  get isQuote(): boolean {
    return this.quoteDepth > 0;
  }

  /**
   * Returns whether the current link shows a preview of the image or video at `url`, and counts that preview. Each is shown once,
   * at its first link outside of a quote. False if previews of images of websites are disabled, and the image is one.
   */
  claimPreview(url: string, kind: 'external image' | 'image' | 'video'): boolean {
    if (kind === 'external image' && this.options.imageAddress === undefined) return false;
    if (this.isQuote || this.#previewed.has(url)) return false;
    this.#previewed.add(url);
    if (kind !== 'video') this.#hasImagePreview = true;
    return true;
  }

  /** Whether previews of images and videos are shown. The value is final only after the whole text was rendered. */
  get hasPreviews(): boolean {
    return this.#previewed.size > 0 && this.#previewed.size <= MAX_PREVIEWS;
  }

  result(html: string): RenderedMessage {
    return {
      html,
      mentionedUserIds: [...this.mentionedUserIds],
      mentionedGroupIds: [...this.mentionedGroupIds],
      channelWildcard: this.channelWildcard,
      topicWildcard: this.topicWildcard,
      hasLink: this.hasLink,
      hasImage: this.hasInlineImage || (this.hasPreviews && this.#hasImagePreview),
      hasAttachment: this.attachmentIds.size > 0,
      attachmentIds: [...this.attachmentIds],
    };
  }
}
