import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  DeleteReminderDocument,
  type ReminderRowFragment as Reminder,
  RemindersDocument,
} from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Item, ItemList, Moment } from '../writing/item.tsx';

/** List of the viewer's reminders, next one first. */
export function RemindersList() {
  const read = useData(RemindersDocument, {});
  const { data } = read;
  const list = data?.reminders;
  return (
    <ItemList
      read={read}
      count={list?.nodes.length}
      total={list?.totalCount}
      label="Reminders"
      empty="You have no reminders. To set one, select “Remind me” in the menu of a message."
    >
      {list?.nodes.map((reminder) => (
        <ReminderItem key={reminder.id} reminder={reminder} />
      ))}
    </ItemList>
  );
}

function ReminderItem({ reminder: { id, message, renderedContent, ...rest } }: { readonly reminder: Reminder }) {
  const { scheduledAt, state, failureReason } = rest;
  const { run, refusal, isBusy } = useCommand(DeleteReminderDocument);
  const isFailed = state === 'FAILED';
  return (
    <Item
      title={
        message === null ? (
          'Unavailable message'
        ) : (
          <Link to={addressOf({ name: 'message', messageId: message.id })}>Message by {message.sender.fullName}</Link>
        )
      }
      isFailed={isFailed}
      detail={
        <>
          {isFailed ? `Couldn't send: ${failureReason} · ` : 'Due '}
          <Moment at={scheduledAt} />
        </>
      }
      actions={
        <>
          <Button kind="quiet" disabled={isBusy} onClick={() => void run({ input: { reminderId: id } })}>
            Delete
          </Button>
          <Refusal>{refusal}</Refusal>
        </>
      }
    >
      <Markdown html={renderedContent} isAlone />
    </Item>
  );
}
