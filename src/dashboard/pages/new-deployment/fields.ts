/** What the parts of the form are given. */
import type { Draft } from './draft.ts'

export interface FieldsProps {
  draft: Draft
  onChange(part: Partial<Draft>): void
  /** what is wrong, by the field's name in the input */
  wrong: Readonly<Record<string, string>>
}
