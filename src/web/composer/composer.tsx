import { type FormEvent, type KeyboardEvent, memo, useMemo, useRef, useState } from 'react';
import { useClient } from 'urql';
import { useDraft } from '../drafts/drafts.ts';
import { openEmojiPicker } from '../emoji/emoji-picker.tsx';
import { type MessageNarrowInput, UpdateSettingsDocument } from '../generated/graphql.ts';
import { type Place, targetOf } from '../routing/place.ts';
import { openLaterMenu } from '../scheduled/later-menu.tsx';
import { openSnippetMenu } from '../snippets/snippet-menu.tsx';
import { SuggestionList } from '../type-ahead/suggestion-list.tsx';
import { TopicField } from '../type-ahead/topic-field.tsx';
import { useTypeAhead } from '../type-ahead/use-type-ahead.ts';
import { type TypingTo, useTypingNotification } from '../typing/use-typing-notification.ts';
import { act } from '../ui/act.ts';
import { IconButton } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import type { Tool } from '../ui/toolbar.tsx';
import './composer.css';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { insert, replaceRange } from '../ui/write.ts';
import { countOf, excessOf } from './excess.ts';
import { formatByKey } from './formatting.ts';
import { FormattingBar } from './formatting-bar.tsx';
import { post } from './outbox.ts';
import { Preview } from './preview.tsx';
import { fileHandlers, UploadList, useUploads } from './uploads.tsx';

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
  const client = useClient();
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const place = useMemo(() => placeOf(target), [target]);
  const draft = useDraft(place);
  const { text, topic } = draft;
  const typeAhead = useTypeAhead(field, 'channelId' in target);
  const typing = useTypingNotification(addressedTo(target));
  const placeholder = placeholderOf(target);
  const [isPreviewed, setPreviewed] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const written = useRef(text);
  written.current = text;
  const uploads = useUploads((link) => {
    const before = written.current;
    const added = `${before === '' || /\s$/.test(before) ? '' : '\n'}${link} `;
    // Another file can be stored before the form is rendered again.
    written.current = before + added;
    const box = field.current;
    // The focus stays where it is. In the field, the user can undo the change, and the caret stays unless it was at the end.
    if (box === null || document.activeElement !== box) draft.write({ text: before + added });
    else {
      const { selectionStart: from, selectionEnd: to } = box;
      replaceRange(box, before.length, before.length, added);
      if (to < before.length) box.setSelectionRange(from, to);
    }
  });
  const { add, isSending } = uploads;
  const files = useMemo(() => fileHandlers({ add }), [add]);
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
    if (isEmpty || excess !== undefined || isSending) return;
    post(narrow, message);
    leave();
  };
  const sendLater = (button: HTMLButtonElement) => {
    // If the user has changed the text while the menu was open, it stays in the field.
    const onDone = () => (field.current === null || field.current.value === text) && leave();
    if (!isEmpty && excess === undefined && !isSending) openLaterMenu(button, { message, onDone });
  };
  const more = useMemo((): Tool[] => {
    const openSnippets = (button: Element) => field.current !== null && openSnippetMenu(button, field.current);
    const openEmoji = (button: Element) =>
      openEmojiPicker(
        button,
        // A name cannot express a skin tone.
        ({ names: [name], glyph }) =>
          field.current !== null && insert(field.current, hasTone(glyph) ? `${glyph} ` : `:${name}: `),
        { hasTones: true },
      );
    const turn = () => setPreviewed(!isPreviewed);
    return [
      { label: 'Attach files', icon: 'clip', onPress: () => picker.current?.click() },
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
      <div className="composer-box" {...files}>
        {'channelId' in target && target.topic === undefined && (
          <TopicField channelId={target.channelId} value={topic} onChange={(name) => draft.write({ topic: name })} />
        )}
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
        <UploadList {...uploads} />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={({ currentTarget }) => {
            add([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
        <div className="composer-bar">
          <FormattingBar field={field} isIdle={isPreviewed} more={more} />
          <label className="composer-enter" title="If off, Ctrl + Enter sends">
            <input
              type="checkbox"
              role="switch"
              aria-checked={enterSends}
              checked={enterSends}
              onChange={({ currentTarget: { checked } }) =>
                void act(client, UpdateSettingsDocument, { input: { settings: { enterSends: checked } } })
              }
            />
            Enter sends
          </label>
          <IconButton
            className="composer-later"
            icon="clock"
            label="Send later"
            aria-haspopup="menu"
            aria-disabled={isEmpty || isSending}
            onClick={({ currentTarget }) => sendLater(currentTarget)}
          />
          <CharacterCount text={text} />
          <IconButton
            className="composer-send"
            icon="send"
            label="Send"
            type="submit"
            disabled={isEmpty || excess !== undefined || isSending}
          />
        </div>
      </div>
      <Refusal>{excess}</Refusal>
    </form>
  );
});

/** Number of characters that can still be written, or by which the text is too long. Shown near the maximum only. */
function CharacterCount({ text }: { readonly text: string }) {
  const left = countOf(text);
  if (left === undefined) return null;
  return (
    <span className="composer-count" data-excess={left < 0}>
      {left}
    </span>
  );
}

const hasTone = (glyph: string | undefined): boolean => glyph !== undefined && /\p{Emoji_Modifier}/u.test(glyph);

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
