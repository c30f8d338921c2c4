/** Asks the server what the resources would come to as they are staged: it alone knows the defaults, and what fits together. */
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { type Effective, effectiveQuery, type Settings } from './documents.ts'
import type { Advice } from './editor.ts'
import { resourcesAfter } from './plan.ts'
import type { Staged } from './staged.ts'

/** ms of rest after which it is asked */
const REST = 250
const NO_ISSUES: Advice['issues'] = new Map()

interface Issue {
  path: string[]
  message: string
}

export function useEffective(settings: Settings, staged: Staged): Advice {
  const { plain } = useApi()
  const { id, version } = settings
  const spec = resourcesAfter(settings, staged)
  const [asked] = useDebouncedValue(JSON.stringify(spec), REST)
  const [advice, setAdvice] = useState<Advice>({ effective: null, issues: NO_ISSUES })
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another version others may be stored
  useEffect(() => {
    let isOver = false
    void plain
      .query(effectiveQuery, { id, spec: JSON.parse(asked) })
      .toPromise()
      .then(({ data, error }) => {
        if (isOver) return
        const issues = error?.graphQLErrors.flatMap(({ extensions, message }) =>
          issuesOf((extensions.issues as Issue[] | undefined) ?? [], message),
        )
        const effective: Effective | null = data?.deployment?.effectiveResources ?? null
        setAdvice((before) => ({
          effective: effective ?? before.effective,
          issues: issues ? new Map(issues) : NO_ISSUES,
        }))
      })
    return () => {
      isOver = true
    }
  }, [plain, id, asked, version])
  return advice
}

/** Below one of these every place is the field's own. */
const DEPTH = 3

function issuesOf(issues: readonly Issue[], message: string): [string, string][] {
  if (issues.length === 0) return [['sourceConfig.resourceSpec', message]]
  return issues.map(({ path, message }) => {
    const [field, inside] = split(['sourceConfig', ...path])
    return [field, inside ? `${inside}: ${message}` : message]
  })
}

/** The path of a field, and where in it. */
export function split(path: readonly string[]): [field: string, inside: string] {
  const depth = path[1] === 'resourceSpec' ? DEPTH : path[0] === 'secretReferences' || path[0] === 'tags' ? 1 : 2
  return [path.slice(0, depth).join('.'), path.slice(depth).join('.')]
}
