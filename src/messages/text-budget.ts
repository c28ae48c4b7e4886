import { perOperation } from '../api/graphql/loading/context.ts';
import type { Message } from '../generated/prisma/client.ts';
import { MAX_PAGE_BYTES, tooLarge } from './reply-size.ts';

/** Maximum length of the texts of messages that one operation loads in pages, and that it returns, in UTF-16 units. */
const MAX_LENGTH = 2 * MAX_PAGE_BYTES;

/**
 * Counter of the texts of messages in an operation. A document can request many pages under aliases, each as large as the
 * largest page over REST.
 */
export const messageTexts = perOperation(() => {
  let loaded = 0;
  let returned = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    /**
     * Loads a page of messages when the earlier loads of the operation have ended, so that they are counted.
     *
     * @throws BadRequestError if the earlier pages have used up the length.
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
     * Returns a text for the response.
     *
     * @throws BadRequestError if the texts of the operation exceed the length.
     */
    taken(text: string): string {
      returned += text.length;
      if (returned > MAX_LENGTH) throw tooLarge();
      return text;
    },
  };
});
