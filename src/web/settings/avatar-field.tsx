import { useRef } from 'react';
import { useCommand } from '../api/use-command.ts';
import { type OwnProfileQuery, SetAvatarDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Avatar } from '../ui/person.tsx';

interface Props {
  readonly viewer: Pick<NonNullable<OwnProfileQuery['viewer']>, 'largeAvatarUrl' | 'avatarSource'>;
  /** Whether only administrators can change images. */
  readonly isFixed: boolean;
}

/** Field for the viewer's image: an uploaded file, or the organization's default. */
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
        <Button onClick={() => input.current?.click()}>Upload image</Button>
        {viewer.avatarSource === 'UPLOADED' && <Button onClick={() => set(null)}>Remove image</Button>}
      </div>
      <small className="field-hint">PNG, JPEG, WebP or GIF, 5 MiB at most.</small>
      <Refusal>{refusal}</Refusal>
    </fieldset>
  );
}
