import { type Described, DraftForm, type DraftProps } from '../ui/draft-form.tsx';

/** Asks for what a group is. */
export const GroupForm = (props: DraftProps<Described>) => (
  <DraftForm {...props} nameLimit={100} description={{ label: 'What it is for' }} />
);
