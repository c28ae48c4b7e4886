import { Dialog } from '../ui/dialog.tsx';
import './picture-dialog.css';

interface Props {
  readonly url: string;
  readonly name: string;
}

/** Dialog with a whole uploaded picture, and a link that opens it in a tab of its own. */
export const PictureDialog = ({ url, name }: Props) => (
  <Dialog title={name} size="wide">
    <div className="picture-whole">
      <img src={url} alt={name} />
    </div>
    <p className="picture-links">
      <a href={url} target="_blank" rel="noopener noreferrer">
        Open in a new tab
      </a>
      <a href={`${url}?download`} download>
        Download
      </a>
    </p>
  </Dialog>
);
