import { type Described, DraftForm, type DraftProps } from '../ui/draft-form.tsx';

/** Form for the name and description of a group. */
export const GroupForm = (props: DraftProps<Described>) => (
  <DraftForm {...props} nameLimit={100} description={{ label: 'Description' }} />
);
