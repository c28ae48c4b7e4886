import { useQuery } from 'urql';
import { RenderMessageDocument } from '../generated/graphql.ts';
import { Markdown } from '../messages/markdown.tsx';

/** What is written, as it will be read: the service says how. */
export function Preview({ content }: { readonly content: string }) {
  const isEmpty = content.trim() === '';
  const [{ data, error }] = useQuery({ query: RenderMessageDocument, variables: { content }, pause: isEmpty });
  const html = isEmpty ? null : data?.renderMessage;
  return (
    <section
      className="composer-preview"
      data-section-start
      aria-label="Preview"
      aria-busy={!html && !isEmpty}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than the field scrolls by the keys as well.
      tabIndex={0}
    >
      {isEmpty && <p className="soft">Nothing is written yet.</p>}
      {error !== undefined && <p role="alert">It cannot be shown right now.</p>}
      {html && <Markdown html={html} isAlone />}
    </section>
  );
}
