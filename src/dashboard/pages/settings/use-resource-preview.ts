/** Asks the server to evaluate the edited resources: only the server knows the defaults and which values fit together. */
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useApi } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { type EffectiveResources, effectiveResourcesQuery, type Settings } from './documents.ts'
import type { Edits } from './edits.ts'
import { FIELDS, SPEC_PATH } from './fields.ts'
import { editedResourceSpec } from './save-request.ts'

const DEBOUNCE_MS = 250

/** Messages by the field's name; for the resources as a whole by `SPEC_PATH`. */
export type Issues = ReadonlyMap<string, string>

export interface ResourcePreview {
  effective: EffectiveResources | null
  issues: Issues
}

export function useResourcePreview(settings: Settings, edits: Edits): ResourcePreview {
  const { uncached } = useApi()
  const { id, version } = settings
  const [spec] = useDebouncedValue(JSON.stringify(editedResourceSpec(settings, edits)), DEBOUNCE_MS)
  const [preview, setPreview] = useState<ResourcePreview>({ effective: null, issues: new Map() })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version may have other stored resources
  useEffect(() => {
    let isCancelled = false
    void uncached
      .query(effectiveResourcesQuery, { id, spec: JSON.parse(spec) })
      .toPromise()
      .then(({ data, error }) => {
        if (isCancelled) return
        const issues = error?.graphQLErrors.flatMap(({ extensions, message }) => {
          const found = (extensions.issues ?? []) as Problem['issues']
          if (found.length === 0) return [[SPEC_PATH, message] as const]
          return found.map((issue) => placeIssue({ ...issue, path: ['sourceConfig', ...issue.path] }))
        })
        const effective = data?.deployment?.effectiveResources
        setPreview((before) => ({ effective: effective ?? before.effective, issues: new Map(issues) }))
      })
    return () => {
      isCancelled = true
    }
  }, [uncached, id, spec, version])
  return preview
}

/** The name of the field that an issue belongs to, and its message with the place in the field. */
export function placeIssue({ path, message }: Pick<Problem['issues'][number], 'path' | 'message'>) {
  const place = path.join('.')
  const field = FIELDS.find((one) => `${place}.`.startsWith(`${one.path}.`))
  if (!field) return [place, message] as const
  const inside = field.path.startsWith(SPEC_PATH) ? place.slice(field.path.length + 1) : ''
  return [field.name, inside ? `${inside}: ${message}` : message] as const
}
