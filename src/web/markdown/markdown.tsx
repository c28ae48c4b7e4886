import { type MouseEvent, memo, useLayoutEffect, useRef } from 'react';
import { openDialog } from '../ui/dialog.tsx';
import './markdown.css';
import { dress, TAB_STOPS } from './markup.ts';
import { PictureDialog } from './picture-dialog.tsx';

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
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link is clicked by the Enter key too.
    // biome-ignore lint/a11y/noStaticElementInteractions: the links inside are the interactive elements.
    <div
      className="markdown"
      ref={element}
      onClick={openPicture}
      // biome-ignore lint/security/noDangerouslySetInnerHtml: the service renders and sanitizes this HTML.
      dangerouslySetInnerHTML={{ __html: dress(html) }}
    />
  );
});

/** Opens a clicked picture in a dialog, unless the user opens it in another tab or window. */
function openPicture(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a.picture') : null;
  if (link === null || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openDialog(<PictureDialog url={link.pathname} name={link.querySelector('img')?.alt ?? 'Picture'} />);
}
