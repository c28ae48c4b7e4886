import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { useStore } from '../base/store.ts';
import { PushDevicesDocument, type PushDevicesQuery, RemovePushDeviceDocument } from '../generated/graphql.ts';
import { canSubscribe, isPushOff, ownDeviceId, subscribeToPush, unsubscribeFromPush } from '../notifications/push.ts';
import { Button, RemoveButton } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';

type Device = NonNullable<PushDevicesQuery['pushDevices']>['nodes'][number];

/** List of the browsers and devices that receive the viewer's push notifications, with buttons that remove them. */
export function PushDevices() {
  const client = useClient();
  const ownId = useStore(ownDeviceId);
  const isOff = useStore(isPushOff);
  const read = useData(PushDevicesDocument, {}, { requestPolicy: 'cache-and-network' });
  const { run, refusal } = useCommand(RemovePushDeviceDocument);
  const devices = read.data?.pushDevices?.nodes ?? [];
  const remove = async (pushDeviceId: string) => {
    if ((await run({ input: { pushDeviceId } })) && pushDeviceId === ownId) await unsubscribeFromPush();
  };
  const add = async () => {
    isPushOff.set(false);
    await subscribeToPush(client);
  };
  return (
    <section className="form-section" aria-labelledby="push-devices-title">
      <h3 id="push-devices-title">Devices with push notifications</h3>
      <NotReady of={read} />
      {read.state === 'ready' && devices.length === 0 && (
        <p className="soft">No browser or device receives push notifications.</p>
      )}
      <ul className="plain-list" aria-labelledby="push-devices-title">
        {devices.map((device) => (
          <DeviceRow key={device.id} device={device} isOwn={device.id === ownId} onRemove={(id) => void remove(id)} />
        ))}
      </ul>
      <Refusal>{refusal}</Refusal>
      {isOff && canSubscribe() && (
        <div>
          <Button onClick={() => void add()}>Add this browser</Button>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  readonly device: Device;
  /** Whether the device is this browser. */
  readonly isOwn: boolean;
  readonly onRemove: (id: string) => void;
}

function DeviceRow({ device: { id, name, createdAt, lastSentAt }, isOwn, onRemove }: RowProps) {
  const { moment } = useClock();
  const use = lastSentAt === null ? `Added ${moment(createdAt)}, not used yet` : `Last used ${moment(lastSentAt)}`;
  return (
    <li className="row">
      <div className="row-body">
        <strong>{name}</strong>
        <p className="soft">{isOwn ? `This browser. ${use}` : use}</p>
      </div>
      <RemoveButton id={id} name={name} onRemove={onRemove} />
    </li>
  );
}
