import { type ReactNode, useRef } from 'react';
import { Button } from './button.tsx';

interface Props {
  /** The current image. */
  readonly image: ReactNode;
  /** Whether the image was uploaded, so that it can be removed. */
  readonly isUploaded: boolean;
  readonly isFixed: boolean;
  /** ID of a text about the image. */
  readonly describedBy?: string;
  readonly legend: string;
  /** Sets the image; null removes it. */
  readonly onSet: (file: File | null) => void;
  /** Hints and errors below the buttons. */
  readonly children?: ReactNode;
}

/** Field for an image that is uploaded or removed immediately. */
export function ImageField({ image, isUploaded, isFixed, describedBy, legend, onSet, children }: Props) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <fieldset className="group-of-fields" disabled={isFixed} aria-describedby={describedBy}>
      <legend>{legend}</legend>
      <div className="image-field">
        {image}
        <input
          ref={input}
          hidden
          type="file"
          aria-label="Image file"
          accept="image/png,image/jpeg,image/webp,image/gif"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) onSet(file);
            currentTarget.value = '';
          }}
        />
        <Button onClick={() => input.current?.click()}>Upload image</Button>
        {isUploaded && <Button onClick={() => onSet(null)}>Remove image</Button>}
      </div>
      {children}
    </fieldset>
  );
}
