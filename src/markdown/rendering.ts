import type { Directory, RenderedMessage, RenderOptions } from './types.ts';

/** Largest number of image previews. If a text has more, none is shown. */
const MAX_PREVIEWS = 24;

/** A linked image, shown below the block with the link. */
export interface Preview {
  readonly url: string;
  /** Text of the link, if it differs from the address. */
  readonly title: string | undefined;
  /** Placeholder of the link in the inline text, if it is a bare address. */
  readonly bare: string | undefined;
}

/** Input, results and used-up limits while one text is rendered. */
export class Rendering {
  readonly directory: Directory | undefined;
  readonly options: RenderOptions;
  /** Whether highlighting and formulas are disabled. */
  readonly isPlain: boolean;
  /** Work done for code and formulas, in the units of code.ts and math.ts. */
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

  /** Whether the current block is in a quote: mentions are silent there, and links show no images. */
  get isQuote(): boolean {
    return this.quoteDepth > 0;
  }

  /** Returns whether to show the image here. Each image is shown once, at its first link. */
  claimPreview(url: string): boolean {
    if (!this.options.imagePreviews || this.isQuote || this.#previewed.has(url)) return false;
    this.#previewed.add(url);
    return true;
  }

  /** Whether images are shown. Final only after all images of the text are known. */
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
