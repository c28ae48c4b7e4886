import { memo, useLayoutEffect, useRef } from 'react';
import './markdown.css';
import { dress, TAB_STOPS } from './markup.ts';

interface Props {
  /** `renderedContent` of whatever it is. */
  readonly html: string;
  /** Whether it stands in no list of messages, which are one stop of the Tab key each: then its links are stops. */
  readonly isAlone?: boolean;
}

/** What the service has made of Markdown. */
export const Markdown = memo(({ html, isAlone = false }: Props) => {
  const element = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other content has other links.
  useLayoutEffect(() => {
    if (!isAlone) return;
    for (const stop of element.current?.querySelectorAll<HTMLElement>(TAB_STOPS) ?? []) stop.tabIndex = 0;
  }, [html, isAlone]);
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service makes it, and makes it safe.
  return <div className="markdown" ref={element} dangerouslySetInnerHTML={{ __html: dress(html) }} />;
});
