import { useRef } from 'react';
import { useCommand } from '../api/use-command.ts';
import { type OwnProfileQuery, SetAvatarDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Avatar } from '../ui/person.tsx';

interface Props {
  readonly viewer: Pick<NonNullable<OwnProfileQuery['viewer']>, 'largeAvatarUrl' | 'avatarSource'>;
  /** Whether the organization leaves images to its administrators. */
  readonly isFixed: boolean;
}

/** One's image: a file of one's own, or the organization's default. */
export function AvatarField({ viewer, isFixed }: Props) {
  const { run, refusal, isBusy } = useCommand(SetAvatarDocument);
  const input = useRef<HTMLInputElement>(null);
  const set = (image: File | null) => void run({ input: { image } });
  return (
    <fieldset className="group-of-fields" disabled={isBusy || isFixed}>
      <legend>Image</legend>
      <div className="avatar-field">
        <Avatar url={viewer.largeAvatarUrl} size={88} />
        <input
          ref={input}
          hidden
          type="file"
          aria-label="Image file"
          accept="image/png,image/jpeg,image/webp,image/gif"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) set(file);
            currentTarget.value = '';
          }}
        />
        <Button onClick={() => input.current?.click()}>Upload an image</Button>
        {viewer.avatarSource === 'UPLOADED' && <Button onClick={() => set(null)}>Remove it</Button>}
      </div>
      <small className="field-hint">PNG, JPEG, WebP or GIF, 5 MiB at most.</small>
      <Refusal>{refusal}</Refusal>
    </fieldset>
  );
}
