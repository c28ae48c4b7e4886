import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import {
  DeleteReminderDocument,
  type ReminderRowFragment as Reminder,
  RemindersDocument,
} from '../generated/graphql.ts';
import { Markdown } from '../messages/markdown.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Item, ItemList, Moment } from '../writing/item.tsx';

/** Of what the viewer wants to be reminded, the next one first. */
export function RemindersList() {
  const [{ data }] = useQuery({ query: RemindersDocument });
  const list = data?.reminders;
  return (
    <ItemList
      count={list?.nodes.length}
      total={list?.totalCount}
      label="Reminders"
      empty="“Remind me” in the menu of a message brings it back when you want it."
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
          'A message that is gone'
        ) : (
          <Link to={addressOf({ name: 'message', messageId: message.id })}>Message by {message.sender.fullName}</Link>
        )
      }
      isFailed={isFailed}
      detail={
        <>
          {isFailed ? `Not sent: ${failureReason} · ` : 'Comes '}
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
