/** Asks the server to evaluate the staged resources: only the server knows the defaults and which values fit together. */
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { type EffectiveResources, effectiveResourcesQuery, type Settings } from './documents.ts'
import type { ResourcePreview } from './editor.ts'
import { editedResourceSpec } from './save-request.ts'
import type { StagedChanges } from './staged-changes.ts'

const DEBOUNCE_MS = 250
const NO_ISSUES: ResourcePreview['issues'] = new Map()

interface Issue {
  path: string[]
  message: string
}

export function useResourcePreview(settings: Settings, staged: StagedChanges): ResourcePreview {
  const { uncached: plain } = useApi()
  const { id, version } = settings
  const spec = editedResourceSpec(settings, staged)
  const [debounced] = useDebouncedValue(JSON.stringify(spec), DEBOUNCE_MS)
  const [preview, setPreview] = useState<ResourcePreview>({ effective: null, issues: NO_ISSUES })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version may have other stored resources
  useEffect(() => {
    let isCancelled = false
    void plain
      .query(effectiveResourcesQuery, { id, spec: JSON.parse(debounced) })
      .toPromise()
      .then(({ data, error }) => {
        if (isCancelled) return
        const issues = error?.graphQLErrors.flatMap(({ extensions, message }) =>
          issuesOf((extensions.issues as Issue[] | undefined) ?? [], message),
        )
        const effective: EffectiveResources | null = data?.deployment?.effectiveResources ?? null
        setPreview((before) => ({
          effective: effective ?? before.effective,
          issues: issues ? new Map(issues) : NO_ISSUES,
        }))
      })
    return () => {
      isCancelled = true
    }
  }, [plain, id, debounced, version])
  return preview
}

/** Path segments of a resource field. Deeper segments are inside the field. */
const RESOURCE_FIELD_DEPTH = 3

function issuesOf(issues: readonly Issue[], message: string): [string, string][] {
  if (issues.length === 0) return [['sourceConfig.resourceSpec', message]]
  return issues.map(({ path, message }) => {
    const [field, inside] = splitIssuePath(['sourceConfig', ...path])
    return [field, inside ? `${inside}: ${message}` : message]
  })
}

/** Splits an issue's path into the field's path and the path inside the field. */
export function splitIssuePath(path: readonly string[]): [field: string, inside: string] {
  const depth =
    path[1] === 'resourceSpec' ? RESOURCE_FIELD_DEPTH : path[0] === 'secretReferences' || path[0] === 'tags' ? 1 : 2
  return [path.slice(0, depth).join('.'), path.slice(depth).join('.')]
}
