import { type FormEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { excessOf } from '../composer/excess.ts';
import { formatByKey } from '../composer/formatting.ts';
import { FormattingBar } from '../composer/formatting-bar.tsx';
import { EditMessageDocument } from '../generated/graphql.ts';
import { useViewer } from '../people/use-viewer.ts';
import { useEditTypingNotification } from '../typing/use-typing-notification.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { edited } from './acted.ts';
import './message-actions.css';
import { isForInputMethod } from '../keyboard/input-method.ts';

/** Form that edits a message in its list. It has the keyboard shortcuts of the composer, and Escape cancels the edit. */
export function EditForm({ id, content }: { readonly id: string; readonly content: string }) {
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(content);
  const command = useCommand(EditMessageDocument);
  const typing = useEditTypingNotification(id);
  const enterSends = useViewer().settings?.enterSends ?? true;
  useLayoutEffect(() => {
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
    form.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const excess = excessOf(text);
  const leave = () => {
    const row = form.current?.closest<HTMLElement>('article');
    edited.set(undefined);
    row?.focus({ preventScroll: true });
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (text === content) return leave();
    if (excess !== undefined) return;
    const base = await sha256(content);
    const input = { messageId: id, content: text, ...(base !== undefined && { prevContentSha256: base }) };
    if (await command.run({ input })) leave();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    event.stopPropagation();
    if (isForInputMethod(event.nativeEvent) || formatByKey(event)) return;
    if (event.key === 'Escape') leave();
    const isSent = event.key === 'Enter' && (event.ctrlKey || event.metaKey || (enterSends && !event.shiftKey));
    if (!isSent) return;
    event.preventDefault();
    form.current?.requestSubmit();
  };
  return (
    <form className="edit-form" ref={form} onSubmit={submit} aria-label="Edit message">
      <textarea
        className="input"
        ref={field}
        aria-label="Text of the message"
        rows={1}
        dir="auto"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          typing.wrote(true);
        }}
        onKeyDown={onKeyDown}
      />
      <Refusal>{excess ?? command.refusal}</Refusal>
      <div className="form-actions">
        <FormattingBar field={field} />
        <Button onClick={leave}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={command.isBusy || text.trim() === '' || excess !== undefined}>
          Save
        </Button>
      </div>
    </form>
  );
}

/**
 * Returns the SHA-256 digest of a text in hexadecimal. Undefined on insecure connections, where browsers have no
 * `crypto.subtle`.
 */
async function sha256(text: string): Promise<string | undefined> {
  if (globalThis.crypto.subtle === undefined) return undefined;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
