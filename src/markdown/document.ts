import type { Token } from 'markdown-it';
import { renderCode } from './code.ts';
import { escapeAttribute, escapeTex } from './escape.ts';
import { type InlineHtml, renderInline } from './inline.ts';
import { renderTex } from './math.ts';
import { previewHtml } from './media.ts';
import { type Preview, Rendering } from './rendering.ts';
import type { RenderedMessage } from './types.ts';

/**
 * Renders parsed blocks as HTML. All tags and attributes are written in this file, in code.ts, math.ts, media.ts or inline.ts, or
 * in code that these files call. Source text is always escaped.
 *
 * @param tokens Tokens from `parseBlocks`.
 */
export function writeDocument(
  tokens: readonly Token[],
  known: Pick<Rendering, 'directory' | 'options' | 'isPlain'>,
): RenderedMessage {
  const rendering = new Rendering(known);
  const writer = new Writer(tokens, rendering);
  const blocks = writer.blocks();
  return rendering.result(writer.withPreviews(blocks.join('\n'), rendering.hasPreviews));
}

/**
 * HTML of a block, once without and once with its previews of images and videos. Whether previews are shown is only known after all blocks are
 * rendered.
 */
interface Slot {
  readonly without: string;
  readonly with: string;
}

/**
 * Placeholder in the HTML for a block with image previews, until all blocks are rendered. The source cannot contain it, because
 * `renderMessage` replaces null characters.
 */
const SLOT = '\0';

class Writer {
  readonly #tokens: readonly Token[];
  readonly #rendering: Rendering;
  readonly #slots: Slot[] = [];
  #next = 0;

  constructor(tokens: readonly Token[], rendering: Rendering) {
    this.#tokens = tokens;
    this.#rendering = rendering;
  }

  /** Renders the blocks up to the next token of the type `end`, and skips that token. */
  blocks(end?: string): string[] {
    const blocks: string[] = [];
    for (let token = this.#take(); token !== undefined && token.type !== end; token = this.#take()) {
      blocks.push(...this.#block(token));
    }
    return blocks;
  }

  withPreviews(html: string, areShown: boolean): string {
    if (this.#slots.length === 0) return html;
    let i = 0;
    return html.replaceAll(SLOT, () => this.#slots[i++]?.[areShown ? 'with' : 'without'] ?? '');
  }

  #take(): Token | undefined {
    return this.#tokens[this.#next++];
  }

  /**
   * Renders the block that begins with the token. Display formulas result in one block for each formula, or in no block if the
   * source is blank.
   */
  #block(token: Token): string[] {
    switch (token.type) {
      case 'paragraph_open':
        return [this.#paragraph()];
      case 'heading_open':
        return [this.#heading(token.tag)];
      case 'bullet_list_open':
      case 'ordered_list_open':
        return [this.#list(token)];
      case 'blockquote_open':
        return [this.#quote()];
      case 'spoiler_open':
        return [this.#spoiler()];
      case 'table_open':
        return [this.#table()];
      case 'hr':
        return ['<hr>'];
      case 'code_block':
        return [renderCode(this.#rendering, token.content, undefined)];
      case 'code':
        return [renderCode(this.#rendering, token.content, token.info)];
      case 'math':
        return this.#math(token.content);
      default:
        throw new Error(`Unexpected block token ${token.type}`);
    }
  }

  #paragraph(): string {
    const inline = this.#inline();
    this.#take();
    const html = `<p>${inline.html}</p>`;
    return this.#slot({ html, previews: inline.previews, isReplaced: inline.isBareLink });
  }

  #heading(tag: string): string {
    const { html, previews } = this.#inline();
    this.#take();
    return this.#slot({ html: `<${tag}>${html}</${tag}>`, previews, isReplaced: false });
  }

  #inline(): InlineHtml {
    return renderInline(this.#take()?.content ?? '', this.#rendering);
  }

  #list(token: Token): string {
    const start = token.attrGet('start');
    const attributes = start === null ? '' : ` start="${escapeAttribute(String(start))}"`;
    const isTight = token.meta?.['isTight'] === true;
    const items: string[] = [];
    while (this.#take()?.type === 'list_item_open') items.push(this.#item(isTight));
    return `<${token.tag}${attributes}>\n${items.join('\n')}\n</${token.tag}>`;
  }

  #item(isTight: boolean): string {
    let html = '';
    for (let token = this.#take(); token?.type !== 'list_item_close' && token !== undefined; token = this.#take()) {
      if (isTight && token.type === 'paragraph_open') {
        html += this.#tightText();
      } else {
        const blocks = this.#block(token).join('\n');
        html += html === '' ? `\n${blocks}\n` : `${blocks}\n`;
      }
    }
    return `<li>${html}</li>`;
  }

  #tightText(): string {
    const { html, previews } = this.#inline();
    this.#take();
    if (previews.length === 0) return html;
    return this.#keepSlot({ without: html, with: `${html}\n${this.#previewsHtml(previews)}\n` });
  }

  #quote(): string {
    this.#rendering.quoteDepth++;
    const blocks = this.blocks('blockquote_close');
    this.#rendering.quoteDepth--;
    return ['<blockquote>', ...blocks, '</blockquote>'].join('\n');
  }

  #spoiler(): string {
    const header = ['<div class="spoiler-header">', ...this.blocks('spoiler_content'), '</div>'].join('\n');
    const content = this.blocks('spoiler_close');
    const hidden = ['<div class="spoiler-content" aria-hidden="true">', ...content, '</div>'].join('\n');
    return `<div class="spoiler-block">${header}${hidden}</div>`;
  }

  #table(): string {
    const lines = ['<table>'];
    const previews: Preview[] = [];
    for (let token = this.#take(); token !== undefined && token.type !== 'table_close'; token = this.#take()) {
      if (token.type === 'th_open' || token.type === 'td_open') {
        const inline = this.#inline();
        this.#take();
        lines.push(`<${token.tag}${alignment(token)}>${inline.html}</${token.tag}>`);
        previews.push(...inline.previews);
      } else {
        lines.push(token.nesting > 0 ? `<${token.tag}>` : `</${token.tag}>`);
      }
    }
    if (!lines.includes('<tbody>')) lines.push('<tbody>', '</tbody>');
    return this.#slot({ html: [...lines, '</table>'].join('\n'), previews, isReplaced: false });
  }

  #math(source: string): string[] {
    const parts = source.split(/\n\s*\n/).map((part) => part.trim());
    return parts
      .filter((part) => part !== '')
      .map((part) => renderTex(this.#rendering, part, { isDisplay: true }) ?? texError(part))
      .map((html) => `<p>${html}</p>`);
  }

  /**
   * Returns the HTML of a block, or a placeholder if the block has image previews. Previews are shown below the block. If
   * `isReplaced` is true, they replace the block.
   */
  #slot({ html, previews, isReplaced }: { html: string; previews: readonly Preview[]; isReplaced: boolean }): string {
    if (previews.length === 0) return html;
    const images = this.#previewsHtml(previews);
    return this.#keepSlot({ without: html, with: isReplaced ? images : `${html}\n${images}` });
  }

  #keepSlot(slot: Slot): string {
    this.#slots.push(slot);
    return SLOT;
  }

  #previewsHtml(previews: readonly Preview[]): string {
    return previews.map((preview) => previewHtml(preview, this.#rendering.options)).join('\n');
  }
}

const texError = (source: string) => `<span class="tex-error">${escapeTex(source)}</span>`;

/**
 * Returns the alignment of a table cell as an HTML attribute. In the token, the alignment is a style with one of three values.
 */
function alignment(token: Token): string {
  const [, side] = /^text-align:(left|center|right)$/.exec(String(token.attrGet('style'))) ?? [];
  return side === undefined ? '' : ` style="text-align: ${side};"`;
}
