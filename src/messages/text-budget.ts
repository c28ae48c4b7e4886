import { perOperation } from '../api/graphql/loading/context.ts';
import type { Message } from '../generated/prisma/client.ts';
import { MAX_PAGE_BYTES, tooLarge } from './reply-size.ts';

/**
 * Maximum total length of the message texts that one operation loads in pages, in UTF-16 code units. Beyond it, further pages
 * are refused with `ValidationError`. The texts that the operation returns have the same limit.
 */
const MAX_LENGTH = 2 * MAX_PAGE_BYTES;

/**
 * Limits the total length of the message texts of an operation. Without a limit, a GraphQL document could request many pages
 * under aliases, each as large as the largest page of the REST API.
 */
export const messageTexts = perOperation(() => {
  let loaded = 0;
  let returned = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    /**
     * Loads a page of messages. Waits until the operation's earlier loads have ended, so that the lengths of their texts are
     * counted.
     *
     * @throws ValidationError if the texts of the earlier pages exceed the limit.
     */
    load<Page extends { readonly rows: readonly Message[] }>(read: () => Promise<Page>): Promise<Page> {
      const load = async () => {
        if (loaded > MAX_LENGTH) throw tooLarge();
        const page = await read();
        for (const { content, renderedContent } of page.rows) loaded += content.length + renderedContent.length;
        return page;
      };
      const own = last.then(load);
      last = own.catch(() => {});
      return own;
    },
    /**
     * Counts the length of a text in the response, and returns the text.
     *
     * @throws ValidationError if the texts that the operation returns exceed the limit.
     */
    taken(text: string): string {
      returned += text.length;
      if (returned > MAX_LENGTH) throw tooLarge();
      return text;
    },
  };
});
