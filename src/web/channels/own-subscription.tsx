import { useCommand } from '../api/use-command.ts';
import { type SubscriptionSettingsInput, UpdateSubscriptionDocument } from '../generated/graphql.ts';
import { Check, Field, Refusal } from '../ui/form.tsx';
import type { Channel } from './settings-channel.ts';

interface Props {
  readonly channelId: string;
  readonly subscription: NonNullable<Channel['ownSubscription']>;
}

/** The viewer's own settings for a channel. Each change is saved immediately. */
export function OwnSubscription({ channelId, subscription }: Props) {
  const { run, refusal } = useCommand(UpdateSubscriptionDocument);
  const change = (part: Omit<SubscriptionSettingsInput, 'channelId'>) =>
    void run({ input: { subscriptions: [{ channelId, ...part }] } });
  const { color, isMuted, pinToTop } = subscription;
  return (
    <div className="form">
      <Check label="Pin to top" checked={pinToTop} onChange={(e) => change({ pinToTop: e.currentTarget.checked })} />
      <Check label="Mute channel" checked={isMuted} onChange={(e) => change({ isMuted: e.currentTarget.checked })} />
      <Field label="Color">
        <input
          className="color-input"
          type="color"
          key={color}
          defaultValue={color}
          onBlur={(event) => event.currentTarget.value !== color && change({ color: event.currentTarget.value })}
        />
      </Field>
      <Refusal>{refusal}</Refusal>
    </div>
  );
}
