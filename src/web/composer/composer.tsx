import { type FormEvent, type KeyboardEvent, memo, useMemo, useRef } from 'react';
import { useDraft } from '../drafts/drafts.ts';
import type { Place } from '../drafts/place.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { SuggestionList } from '../type-ahead/suggestion-list.tsx';
import { TopicField } from '../type-ahead/topic-field.tsx';
import { useTypeAhead } from '../type-ahead/use-type-ahead.ts';
import { type TypingTo, useTypingTold } from '../typing/use-typing-told.ts';
import { IconButton } from '../ui/button.tsx';
import './composer.css';
import { post } from './outbox.ts';

/** Where a message goes: to a channel under a topic, or to people. */
export type Target =
  | { readonly channelId: string; readonly channelName: string; readonly topic: string | undefined }
  | { readonly directTo: readonly string[]; readonly names: string };

interface Props {
  readonly target: Target;
  readonly narrow: MessageNarrowInput;
  readonly enterSends: boolean;
}

/** Where one writes. It knows nothing of the list: a key stroke is drawn here and nowhere else. */
export const Composer = memo(({ target, narrow, enterSends }: Props) => {
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const place = useMemo(() => placeOf(target), [target]);
  const draft = useDraft(place);
  const { text, topic } = draft;
  const typeAhead = useTypeAhead(field, 'channelId' in target);
  const typing = useTypingTold(addressedTo(target));
  const placeholder = placeholderOf(target);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const content = text.trim();
    if (content === '') return;
    if ('directTo' in target) post(narrow, { directTo: [...target.directTo], content });
    else post(narrow, { channelId: target.channelId, topic: target.topic ?? topic.trim(), content });
    typing.stop();
    draft.clear();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (typeAhead.onKey(event) || !isSend(event, enterSends)) return;
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
        <textarea
          className="composer-text"
          ref={field}
          data-section-start
          rows={1}
          aria-label={placeholder}
          aria-autocomplete="list"
          placeholder={placeholder}
          maxLength={10_000}
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
        <IconButton className="composer-send" icon="send" label="Send" type="submit" disabled={text.trim() === ''} />
      </div>
      <p className="composer-hint">{enterSends ? 'Enter sends, Shift + Enter begins a line' : 'Ctrl + Enter sends'}</p>
    </form>
  );
});

function isSend(event: KeyboardEvent, enterSends: boolean): boolean {
  if (event.key !== 'Enter' || event.nativeEvent.isComposing) return false;
  return event.ctrlKey || event.metaKey || (enterSends && !event.shiftKey);
}

/** Of a new topic nobody knows yet. */
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
