import { type FormEvent, type KeyboardEvent, memo, useMemo, useRef, useState } from 'react';
import { useDraft } from '../drafts/drafts.ts';
import { openEmojiPicker } from '../emoji/emoji-picker.tsx';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { type Place, targetOf } from '../routing/place.ts';
import { openLaterMenu } from '../scheduled/later-menu.tsx';
import { openSnippetMenu } from '../snippets/snippet-menu.tsx';
import { SuggestionList } from '../type-ahead/suggestion-list.tsx';
import { TopicField } from '../type-ahead/topic-field.tsx';
import { useTypeAhead } from '../type-ahead/use-type-ahead.ts';
import { type TypingTo, useTypingNotification } from '../typing/use-typing-notification.ts';
import { IconButton } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import type { Tool } from '../ui/toolbar.tsx';
import './composer.css';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { insert } from '../ui/write.ts';
import { excessOf } from './excess.ts';
import { formatByKey } from './formatting.ts';
import { FormattingBar } from './formatting-bar.tsx';
import { post } from './outbox.ts';
import { Preview } from './preview.tsx';

/** Destination of a message: a topic of a channel, or users. If `topic` is undefined, the user enters a topic in the form. */
export type Target =
  | { readonly channelId: string; readonly channelName: string; readonly topic: string | undefined }
  | { readonly directTo: readonly string[]; readonly names: string };

interface Props {
  readonly target: Target;
  readonly narrow: MessageNarrowInput;
  readonly enterSends: boolean;
}

/**
 * Form in which the user writes and sends a message. Its text is not part of the state of the message list, so that a keystroke
 * renders only the form.
 */
export const Composer = memo(({ target, narrow, enterSends }: Props) => {
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const place = useMemo(() => placeOf(target), [target]);
  const draft = useDraft(place);
  const { text, topic } = draft;
  const typeAhead = useTypeAhead(field, 'channelId' in target);
  const typing = useTypingNotification(addressedTo(target));
  const placeholder = placeholderOf(target);
  const [isPreviewed, setPreviewed] = useState(false);
  const isEmpty = text.trim() === '';
  const excess = excessOf(text);
  const message = { to: targetOf(place, topic.trim()), content: text.trim() };
  const leave = () => {
    typing.stop();
    draft.clear();
    setPreviewed(false);
  };

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isEmpty || excess !== undefined) return;
    post(narrow, message);
    leave();
  };
  const sendLater = (button: HTMLButtonElement) => {
    // If the user has changed the text while the menu was open, it stays in the field.
    const onDone = () => (field.current === null || field.current.value === text) && leave();
    if (!isEmpty && excess === undefined) openLaterMenu(button, { message, onDone });
  };
  const more = useMemo((): Tool[] => {
    const openSnippets = (button: Element) => field.current !== null && openSnippetMenu(button, field.current);
    const openEmoji = (button: Element) =>
      openEmojiPicker(button, ({ names: [name] }) => field.current !== null && insert(field.current, `:${name}: `));
    const turn = () => setPreviewed(!isPreviewed);
    return [
      { label: 'Emoji', icon: 'smile', isDisabled: isPreviewed, onPress: openEmoji },
      { label: 'Saved snippets', icon: 'snippet', hasMenu: true, isDisabled: isPreviewed, onPress: openSnippets },
      { label: 'Preview', icon: 'eye', isPressed: isPreviewed, onPress: turn },
    ];
  }, [isPreviewed]);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (typeAhead.onKey(event) || formatByKey(event) || !isSend(event, enterSends)) return;
    event.preventDefault();
    form.current?.requestSubmit();
  };
  return (
    <form className="composer" ref={form} onSubmit={submit} aria-label="Write a message" data-section>
      {'channelId' in target && target.topic === undefined && (
        <TopicField channelId={target.channelId} value={topic} onChange={(name) => draft.write({ topic: name })} />
      )}
      <div className="composer-box">
        <SuggestionList list={typeAhead} label="Suggestions" />
        {isPreviewed && <Preview content={text} />}
        <textarea
          className="composer-text"
          dir="auto"
          ref={field}
          data-section-start
          hidden={isPreviewed}
          rows={1}
          aria-label={placeholder}
          aria-autocomplete="list"
          placeholder={placeholder}
          value={text}
          onChange={(event) => {
            draft.write({ text: event.currentTarget.value });
            typing.wrote(event.currentTarget.value.trim() !== '');
            typeAhead.look();
          }}
          onSelect={typeAhead.look}
          onKeyDown={onKeyDown}
          {...typeAhead.fieldProps}
        />
        <div className="composer-bar">
          <FormattingBar field={field} isIdle={isPreviewed} more={more} />
          <IconButton
            className="composer-later"
            icon="clock"
            label="Send later"
            aria-haspopup="menu"
            aria-disabled={isEmpty}
            onClick={({ currentTarget }) => sendLater(currentTarget)}
          />
          <IconButton
            className="composer-send"
            icon="send"
            label="Send"
            type="submit"
            disabled={isEmpty || excess !== undefined}
          />
        </div>
      </div>
      <Refusal>{excess}</Refusal>
      <p className="composer-hint">
        {enterSends ? 'Enter to send, Shift + Enter for a new line' : 'Ctrl + Enter to send'}
      </p>
    </form>
  );
});

function isSend(event: KeyboardEvent, enterSends: boolean): boolean {
  if (event.key !== 'Enter' || isForInputMethod(event.nativeEvent)) return false;
  return event.ctrlKey || event.metaKey || (enterSends && !event.shiftKey);
}

/** Returns the destination of typing notifications. Undefined if the user enters a new topic, which no other user has open. */
function addressedTo(target: Target): TypingTo | undefined {
  if ('directTo' in target) return { directTo: target.directTo };
  const { channelId, topic } = target;
  return topic === undefined ? undefined : { channelId, topic };
}

const placeOf = (target: Target): Place =>
  'directTo' in target ? { directTo: target.directTo } : { channelId: target.channelId, topic: target.topic };

function placeholderOf(target: Target): string {
  if ('directTo' in target) return `Message ${target.names}`;
  return `Message #${target.channelName}${target.topic ? ` › ${target.topic}` : ''}`;
}
