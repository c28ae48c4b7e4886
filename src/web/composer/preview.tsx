import { useData } from '../api/use-data.ts';
import { RenderMessageDocument } from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';

/** Preview of a message. The service renders the text. */
export function Preview({ content }: { readonly content: string }) {
  const isEmpty = content.trim() === '';
  const { data, state } = useData(RenderMessageDocument, { content }, { pause: isEmpty });
  const html = isEmpty ? null : data?.renderMessage;
  return (
    <section
      className="composer-preview"
      data-section-start
      aria-label="Preview"
      aria-busy={!html && !isEmpty}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: long content must scroll with the keyboard.
      tabIndex={0}
    >
      {isEmpty && <p className="soft">There is nothing to preview.</p>}
      {state === 'failed' && <p role="alert">The preview could not be loaded.</p>}
      {html && <Markdown html={html} isAlone />}
    </section>
  );
}
