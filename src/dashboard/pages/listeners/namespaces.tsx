/** The field for a listener's namespaces. */
import { TagsInput, type TagsInputProps } from '@mantine/core'

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export function Namespaces(props: TagsInputProps) {
  return (
    <TagsInput
      label="Namespaces"
      description="Deployments may be put into these. Without one the listener can have none."
      placeholder={props.value?.length === 0 ? 'agents' : ''}
      splitChars={[',', ' ']}
      acceptValueOnBlur
      {...props}
    />
  )
}

/** Returns the error for users; null: all names are valid. */
export function namespacesError(names: readonly string[]): string | null {
  const wrong = names.find((name) => !NAMESPACE.test(name))
  return wrong === undefined
    ? null
    : `“${wrong}” is no name of a Kubernetes namespace: small letters, digits and dashes.`
}
