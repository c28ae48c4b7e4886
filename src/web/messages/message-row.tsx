import { memo } from 'react';
import { useStore } from '../base/store.ts';
import type { MessageRowFragment as Message } from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { edited } from '../message-actions/acted.ts';
import { EditForm } from '../message-actions/edit-form.tsx';
import { HistoryDialog } from '../message-actions/history-dialog.tsx';
import { Toolbar } from '../message-actions/toolbar.tsx';
import { PersonButton } from '../people/open-person.tsx';
import { Reactions } from '../reactions/reactions.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { EditTyping } from '../typing/typing-line.tsx';
import { useClock } from '../ui/clock.ts';
import { openDialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { Avatar, namesOf } from '../ui/person.tsx';
import { shownTopic } from '../ui/topic-names.ts';
import { activeMessage } from './active-message.ts';
import { Folded } from './folded.tsx';
import type { Row } from './rows.ts';

/**
 * The lines above messages that name their location: none in a list of one topic or conversation, `topics` in a list of one
 * channel, `all` in a list of messages from anywhere.
 */
export type PlaceLines = 'none' | 'topics' | 'all';

interface Props {
  readonly row: Row;
  readonly places: PlaceLines;
  readonly viewerId: string;
  /** Whether the message is the tab stop of the list. */
  readonly isStop: boolean;
  readonly position: number;
}

/** A message with the lines above it: its day, the start of new messages, and its topic or conversation. */
export const MessageRow = memo(({ row, places, viewerId, isStop, position }: Props) => {
  const { message, day, place, isFirst, isFirstUnread } = row;
  const { sender } = message;
  const isActive = useStore(activeMessage, (id) => id === message.id);
  const editing = useStore(edited, (one) => (one?.id === message.id ? one : undefined));
  return (
    <article
      className="message"
      data-id={message.id}
      data-first={isFirst}
      data-mentioned={message.flags.some((flag) => flag.includes('MENTIONED'))}
      data-unread={!message.viewerHasRead}
      aria-labelledby={`by-${message.id}`}
      aria-describedby={`says-${message.id}`}
      aria-posinset={position}
      aria-setsize={-1}
      tabIndex={isStop ? 0 : -1}
    >
      {/* Shown above the message, but part of its article, because a feed may contain only articles. */}
      {day !== undefined && <Line className="day-line" name={day} />}
      {isFirstUnread && <Line className="unread-line" name="New messages" shown="New" />}
      {places !== 'none' && (place || day !== undefined) && (
        <PlaceLine message={message} isInChannel={places === 'topics'} viewerId={viewerId} />
      )}
      {isFirst ? <Avatar person={sender} /> : <span className="message-gutter" />}
      <div className="message-body">
        <div className={isFirst ? 'message-head' : undefined}>
          <div className={isFirst ? 'message-by' : 'only-heard'} id={`by-${message.id}`}>
            <PersonButton className="message-sender" userId={sender.id} tabIndex={-1}>
              <bdi>{sender.fullName}</bdi>
            </PersonButton>
            {sender.isBot && <span className="message-tag">bot</span>}
            {/* Screen readers announce that a message is unread, but not that it is read. */}
            {!message.viewerHasRead && <span className="only-heard">unread</span>}
          </div>
          <Time message={message} isLink={places !== 'none'} />
        </div>
        <div className="message-content" id={`says-${message.id}`}>
          {editing === undefined ? (
            <Folded id={message.id} html={message.renderedContent}>
              <Markdown html={message.renderedContent} />
            </Folded>
          ) : (
            <EditForm {...editing} />
          )}
          <EditTyping messageId={message.id} viewerId={viewerId} />
          <Marks message={message} />
        </div>
        <Reactions message={message} viewerId={viewerId} />
        {isActive && editing === undefined && <Toolbar message={message} viewerId={viewerId} />}
      </div>
    </article>
  );
});

interface LineProps {
  readonly className: string;
  readonly name: string;
  /** Visible text of the line, if it is shorter than the accessible name. */
  readonly shown?: string;
}

/** Separator line above a new day or above new messages. */
const Line = ({ className, name, shown = name }: LineProps) => (
  // biome-ignore lint/a11y/useSemanticElements: `<hr>` cannot contain text.
  <div className={className} role="separator" aria-label={name}>
    <span>{shown}</span>
  </div>
);

/** Time at which a message was sent. @param isLink Whether the time is a link to the message in its topic or conversation. */
function Time({ message: { id, sentAt }, isLink }: { readonly message: Message; readonly isLink: boolean }) {
  const { time, exact } = useClock();
  const shown = (
    <time dateTime={sentAt} title={exact(sentAt)}>
      {time(sentAt)}
    </time>
  );
  if (!isLink) return <span className="message-time">{shown}</span>;
  return (
    <Link className="message-time" to={addressOf({ name: 'message', messageId: id })} tabIndex={-1}>
      <span className="only-heard">View in context, sent </span>
      {shown}
    </Link>
  );
}

/** Shows whether a message was edited, moved or starred. */
function Marks({ message: { id, lastEditedAt, lastMovedAt, viewerHasStarred } }: { readonly message: Message }) {
  const word = lastEditedAt !== null ? 'edited' : lastMovedAt !== null ? 'moved' : undefined;
  return (
    <>
      {word !== undefined && (
        <button
          type="button"
          className="message-edited"
          tabIndex={-1}
          title="Edit history"
          onClick={() => openDialog(<HistoryDialog messageId={id} />)}
        >
          {word}
        </button>
      )}
      {viewerHasStarred && (
        <span className="message-star" title="Starred">
          <Icon name="star" size={14} />
          <span className="only-heard">starred</span>
        </span>
      )}
    </>
  );
}

interface PlaceLineProps {
  readonly message: Message;
  /** Whether the list contains messages of one channel only, so that the line does not name the channel. */
  readonly isInChannel: boolean;
  readonly viewerId: string;
}

function PlaceLine({ message: { channel, topicName, participants }, isInChannel, viewerId }: PlaceLineProps) {
  if (channel !== null) {
    const { id: channelId, name } = channel;
    return (
      <div className="place-line">
        {!isInChannel && (
          <>
            <Link tabIndex={-1} to={addressOf({ name: 'channel', channelId }, name)}>
              <bdi>#{name}</bdi>
            </Link>
            <span aria-hidden="true">›</span>
          </>
        )}
        <Link tabIndex={-1} to={addressOf({ name: 'channel', channelId, topic: topicName }, name)}>
          <bdi>{shownTopic(topicName)}</bdi>
        </Link>
      </div>
    );
  }
  const others = participants?.filter(({ id }) => id !== viewerId) ?? [];
  const shown = others.length > 0 ? others : (participants ?? []);
  return (
    <div className="place-line">
      <Link tabIndex={-1} to={addressOf({ name: 'direct', userIds: shown.map(({ id }) => id) })}>
        {namesOf(shown)}
      </Link>
    </div>
  );
}
