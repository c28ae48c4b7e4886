import { useCommand } from '../api/use-command.ts';
import { type ListedChannelFragment, SubscribeDocument, UnsubscribeDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';

type Subscribable = Pick<ListedChannelFragment, 'id' | 'name' | 'viewerCanSubscribe' | 'ownSubscription'>;

/** Button that subscribes or unsubscribes the viewer. Renders nothing if the viewer is not subscribed and cannot subscribe. */
export function SubscribeButton({ channel }: { readonly channel: Subscribable }) {
  const { id, name, viewerCanSubscribe, ownSubscription } = channel;
  const subscribe = useCommand(SubscribeDocument);
  const unsubscribe = useCommand(UnsubscribeDocument);
  const isIn = ownSubscription !== null;
  const { refusal, isBusy } = isIn ? unsubscribe : subscribe;
  const change = () =>
    isIn
      ? unsubscribe.run({ input: { channels: [{ id }] } })
      : subscribe.run({ input: { channels: [{ channel: { id } }] } });
  if (!isIn && !viewerCanSubscribe) return null;
  return (
    <>
      <Refusal>{refusal}</Refusal>
      <Button
        kind={isIn ? 'plain' : 'primary'}
        disabled={isBusy}
        onClick={() => void change()}
        aria-label={isIn ? `Unsubscribe from ${name}` : `Subscribe to ${name}`}
      >
        {isIn ? 'Unsubscribe' : 'Subscribe'}
      </Button>
    </>
  );
}
