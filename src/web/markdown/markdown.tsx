import { memo, useLayoutEffect, useRef } from 'react';
import './markdown.css';
import { dress, TAB_STOPS } from './markup.ts';

interface Props {
  /** Content that the service has rendered, such as `renderedContent` of a message. */
  readonly html: string;
  /**
   * Whether the HTML is shown outside of a message list. In a message list, each message is a single tab stop. Outside of it,
   * each link is a tab stop.
   */
  readonly isAlone?: boolean;
}

/** HTML that the service has rendered from Markdown. */
export const Markdown = memo(({ html, isAlone = false }: Props) => {
  const element = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new HTML contains new links.
  useLayoutEffect(() => {
    if (!isAlone) return;
    for (const stop of element.current?.querySelectorAll<HTMLElement>(TAB_STOPS) ?? []) stop.tabIndex = 0;
  }, [html, isAlone]);
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service renders and sanitizes this HTML.
  return <div className="markdown" ref={element} dangerouslySetInnerHTML={{ __html: dress(html) }} />;
});
