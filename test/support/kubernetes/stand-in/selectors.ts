/** Label and field selectors, as text in a query and as objects in a spec. */
import type { Json, KubeObject } from './objects.ts'
import { badRequest } from './status.ts'

type Test = (object: KubeObject) => boolean
type Labels = Record<string, string> | undefined

/** Splits at commas outside parentheses. */
const parts = (text: string): string[] => text.split(/,(?![^(]*\))/).map((part) => part.trim())

function requirement(part: string): (labels: Labels) => boolean {
  const set = /^([^\s!=]+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(part)
  if (set) {
    const values = set[3]!.split(',').map((value) => value.trim())
    const inside = (labels: Labels) => labels?.[set[1]!] !== undefined && values.includes(labels[set[1]!]!)
    return set[2] === 'in' ? inside : (labels) => !inside(labels)
  }
  const pair = /^([^\s!=]+)\s*(==|=|!=)\s*([^\s]*)$/.exec(part)
  if (pair) {
    const same = (labels: Labels) => labels?.[pair[1]!] === pair[3]
    return pair[2] === '!=' ? (labels) => !same(labels) : same
  }
  if (/^!\s*[^\s!=]+$/.test(part)) return (labels) => labels?.[part.slice(1).trim()] === undefined
  if (/^[^\s!=()]+$/.test(part)) return (labels) => labels?.[part] !== undefined
  throw badRequest(`unable to parse requirement: found '${part}', expected: ',' or 'end of string'`)
}

export function labelTest(selector: string | null): Test {
  if (!selector) return () => true
  const tests = parts(selector).map(requirement)
  return ({ metadata }) => tests.every((test) => test(metadata.labels))
}

const FIELDS =
  /^(metadata\.(name|namespace)|spec\.(nodeName|schedulerName|restartPolicy|serviceAccountName)|status\.phase|type|reason|source|reportingComponent|involvedObject\.\w+)$/

export function fieldTest(selector: string | null): Test {
  if (!selector) return () => true
  const tests = selector.split(',').map((part) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(part.trim())
    if (!match) throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`)
    const [, field = '', operator, value] = match
    if (!FIELDS.test(field)) throw badRequest(`Unable to find: field label not supported: ${field}`)
    return (object: KubeObject): boolean => {
      const found = field.split('.').reduce((at: Json, name) => at?.[name], object)
      return (String(found ?? '') === value) === (operator !== '!=')
    }
  })
  return (object) => tests.every((test) => test(object))
}
