/** Collects an object's mistakes in the API server's wording, and has its rules for names. */
import type { Json } from './objects.ts'
import { isQuantity } from './quantity.ts'
import type { Cause } from './status.ts'

export const SUBDOMAIN = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  words:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
}

export const DNS_LABEL = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  words:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  service:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
}

const WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

/** The form of a qualified name: `name` or `prefix.example.com/name`. */
export function isQualifiedName(text: string): boolean {
  const [name = '', prefix, ...more] = text.split('/').reverse()
  if (more.length > 0 || name.length > 63 || !WORD.test(name)) return false
  return prefix === undefined || (prefix.length <= 253 && SUBDOMAIN.pattern.test(prefix))
}

const isLabelValue = (text: unknown): boolean =>
  typeof text === 'string' && (text === '' || (text.length <= 63 && WORD.test(text)))

const shown = (value: Json): string =>
  typeof value === 'string' ? `"${value}"` : typeof value === 'object' ? JSON.stringify(value) : String(value)

export class Problems {
  readonly causes: Cause[] = []

  add(reason: string, field: string, message: string): void {
    this.causes.push({ reason, message, field })
  }

  invalid(field: string, value: Json, why: string): void {
    this.add('FieldValueInvalid', field, `Invalid value: ${shown(value)}: ${why}`)
  }

  required(field: string, why?: string): void {
    this.add('FieldValueRequired', field, why ? `Required value: ${why}` : 'Required value')
  }

  duplicate(field: string, value: Json): void {
    this.add('FieldValueDuplicate', field, `Duplicate value: ${shown(value)}`)
  }

  notFound(field: string, value: Json): void {
    this.add('FieldValueNotFound', field, `Not found: ${shown(value)}`)
  }

  forbidden(field: string, why: string): void {
    this.add('FieldValueForbidden', field, `Forbidden: ${why}`)
  }

  unsupported(field: string, value: Json, known: string[]): void {
    const list = known.map((k) => `"${k}"`).join(', ')
    this.add('FieldValueNotSupported', field, `Unsupported value: ${shown(value)}: supported values: ${list}`)
  }

  quantity(field: string, value: Json): boolean {
    if (isQuantity(value)) return true
    const pattern = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    this.invalid(field, value, `quantities must match the regular expression ${pattern}`)
    return false
  }
}

export function labels(all: Record<string, string> | undefined, field: string, problems: Problems): void {
  for (const [name, value] of Object.entries(all ?? {})) {
    if (!isQualifiedName(name))
      problems.invalid(
        field,
        name,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      )
    if (!isLabelValue(value))
      problems.invalid(
        field,
        value,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      )
  }
}
