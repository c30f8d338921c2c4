/** Props shared by the parts of the form. */
import type { Draft } from './draft.ts'

export interface FieldsProps {
  draft: Draft
  onChange(part: Partial<Draft>): void
  /** error messages by the field's name in the input */
  errors: Readonly<Record<string, string>>
}
