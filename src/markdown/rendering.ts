import type { Directory, RenderedMessage, RenderOptions } from './types.ts';

/** More images than this are not shown at all. */
const MAX_PREVIEWS = 24;

/** A linked image, to be shown below the block with the link. */
export interface Preview {
  readonly url: string;
  /** The text of the link, when it is not the address. */
  readonly title: string | undefined;
  /** The link as the inline text holds it, when it is a bare address. */
  readonly bare: string | undefined;
}

/** What is known, found and used up while one text is rendered. */
export class Rendering {
  readonly directory: Directory | undefined;
  readonly options: RenderOptions;
  /** Without highlighting and formulas. */
  readonly isPlain: boolean;
  /** What code and formulas may still take, in the units of code.ts and math.ts. */
  readonly spent = { code: 0, math: 0, mathHtml: 0 };
  readonly mentionedUserIds = new Set<number>();
  readonly mentionedGroupIds = new Set<number>();
  channelWildcard = false;
  topicWildcard = false;
  hasLink = false;
  quoteDepth = 0;
  readonly #previewed = new Set<string>();

  constructor({ directory, options, isPlain }: Pick<Rendering, 'directory' | 'options' | 'isPlain'>) {
    this.directory = directory;
    this.options = options;
    this.isPlain = isPlain;
  }

  /** Mentions in quotes are silent, and links there show no images. */
  get isQuote(): boolean {
    return this.quoteDepth > 0;
  }

  /** Whether the image is to be shown here: each is shown once, where it is linked first. */
  claimPreview(url: string): boolean {
    if (!this.options.imagePreviews || this.isQuote || this.#previewed.has(url)) return false;
    this.#previewed.add(url);
    return true;
  }

  /** Whether images are shown, once all are known. */
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
      hasImage: this.hasPreviews,
      hasAttachment: false,
    };
  }
}
