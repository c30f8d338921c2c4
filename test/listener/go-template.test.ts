// Templates as Go renders them, and a clear error for what is not in the subset.
import { expect, test } from 'vitest'
import { renderTemplates } from '../../src/listener/go-template.ts'

const render = (text: string, context: unknown = {}) => renderTemplates(new Map([['a', text]]), context).get('a')

test.each([
  ['a {{ .x }} b', { x: 1 }, 'a 1 b'],
  ['a\n  {{- .x -}}\n  b', { x: 1 }, 'a1b'],
  ['{{/* a comment */}}{{ .gone }}', {}, ''],
  ['{{ if .a }}1{{ else if .b }}2{{ else }}3{{ end }}', { a: [], b: 'x' }, '2'],
  ['{{ if and .a (not .b) }}1{{ else }}2{{ end }}', { a: 1, b: {} }, '1'],
  ['{{ range .l }}<{{ . }}{{ $.x }}>{{ else }}none{{ end }}', { l: [1, 2], x: 'y' }, '<1y><2y>'],
  ['{{ range .l }}{{ . }}{{ else }}none{{ end }}', { l: [] }, 'none'],
  ['{{ range $k, $v := .m }}{{ $k }}={{ $v }};{{ end }}', { m: { b: 1, a: 2 } }, 'a=2;b=1;'],
  ['{{ with .a }}{{ .b }}{{ end }}', { a: { b: 'c' } }, 'c'],
  ['{{ $x := "a" }}{{ if true }}{{ $x = "b" }}{{ end }}{{ $x }}', {}, 'b'],
  ['{{ define "t" }}<{{ .a }}>{{ end }}{{ include "t" (dict "a" .x) | quote }}', { x: 1 }, '"<1>"'],
  ['{{ .a | default "b" | trunc 3 }}', { a: 'abcdef' }, 'abc'],
  ['{{ "abcdef" | trunc -3 }}', {}, 'def'],
  ['{{ toYaml .m | nindent 2 }}', { m: { b: ['on', 1], a: 'x: y' } }, '\n  a: "x: y"\n  b:\n    - "on"\n    - 1'],
  ['{{ .f.Get "a" }}', { f: { Get: (name: string) => `file ${name}` } }, 'file a'],
])('%s', (text, context, expected) => {
  expect(render(text, context)).toBe(expected)
})

test.each([
  ['{{ .a.b }}', '.a.b: there is nothing before .b'],
  ['{{ nope 1 }}', 'a: no function nope'],
  ['{{ include "t" . }}', 'a: no template t'],
  ['{{ if .a }}', 'a: a block without {{ end }}'],
  ['{{ end }}', 'a: {{ end }} ends no block'],
  ['{{ a ~ b }}', '{{ a ~ b }} is not in the subset of templates'],
  ['{{ required "a value is missing" .a }}', 'a value is missing'],
])('%s is an error', (text, message) => {
  expect(() => render(text)).toThrow(message)
})
