/** A form that calls the deployment's agent from the browser and shows the answer as it arrives. */
import { Alert, Button, NativeSelect, Stack, Text, Textarea, type TextareaProps, TextInput } from '@mantine/core'
import { IconPlayerStop, IconSend } from '@tabler/icons-react'
import { useState } from 'react'
import { CopyBlock } from '../copy.tsx'
import { Form } from '../dialog-form.tsx'
import { TimeAgo } from '../time.tsx'
import { AnswerView } from './answer-view.tsx'
import { type CallRequest, curlCommand, hasBody, METHODS, parseHeaders, targetOf, unsentHeaders } from './request.ts'
import classes from './try-it.module.css'
import { type CalledDeployment, keepCall, type RecentCall, readRecentCalls, useCall } from './use-call.ts'

const FIRST: CallRequest = { method: 'GET', path: '/', headers: '', body: '' }

export default function TryIt({ deployment }: { deployment: CalledDeployment }) {
  const { id, url, access } = deployment
  const { answer, failure, isRunning, send, stop } = useCall(deployment)
  const [recent, setRecent] = useState(() => readRecentCalls(id))
  const [request, setRequest] = useState<CallRequest>(() => pick(recent[0] ?? FIRST))
  const [wasSent, setWasSent] = useState(false)
  const change = (part: Partial<CallRequest>) => setRequest((now) => ({ ...now, ...part }))
  const target = targetOf(url, request.path)
  const headers = parseHeaders(request.headers)
  const unsent = unsentHeaders(request)
  const submit = async () => {
    setWasSent(true)
    if (!target || typeof headers === 'string') return
    const got = await send(request)
    if (got) setRecent(keepCall(id, { ...request, at: new Date().toISOString(), status: got.status }))
  }
  const textOf = (part: 'headers' | 'body'): TextareaProps => ({
    autosize: true,
    maxRows: 16,
    classNames: { input: classes.mono },
    spellCheck: false,
    value: request[part],
    onChange: ({ currentTarget }) => change({ [part]: currentTarget.value }),
    onKeyDown: ({ key, ctrlKey, metaKey, currentTarget }) => {
      if (key === 'Enter' && (ctrlKey || metaKey)) currentTarget.form?.requestSubmit()
    },
  })
  return (
    <Stack gap="md">
      <Form busy={isRunning} onSubmit={submit} aria-label="Call">
        <Stack gap="sm">
          <div className={classes.line}>
            <NativeSelect
              aria-label="Method"
              data={METHODS}
              value={request.method}
              onChange={({ currentTarget }) => change({ method: currentTarget.value })}
            />
            <TextInput
              aria-label="Path"
              className={classes.path}
              value={request.path}
              error={wasSent && !target && 'A path begins with a slash, for example /runs/stream.'}
              onChange={({ currentTarget }) => change({ path: currentTarget.value })}
              spellCheck={false}
              autoComplete="off"
            />
            {/* keys: a click on one must not become a submit by the other */}
            {isRunning ? (
              <Button key="stop" variant="default" leftSection={<IconPlayerStop size={16} />} onClick={stop}>
                Stop
              </Button>
            ) : (
              <Button key="send" type="submit" leftSection={<IconSend size={16} />}>
                Send
              </Button>
            )}
          </div>
          <Textarea
            {...textOf('headers')}
            label="Headers"
            description="One NAME: VALUE per line. The call has your rights without a key."
            minRows={1}
            error={wasSent && typeof headers === 'string' && headers}
          />
          {unsent.length > 0 && (
            <Text size="xs" c="dimmed">
              Browsers don’t let pages send {unsent.join(', ')}. The curl command does.
            </Text>
          )}
          {hasBody(request) && (
            <Textarea
              {...textOf('body')}
              label="Body"
              description="JSON is sent as application/json, unless a header says otherwise."
              minRows={3}
            />
          )}
        </Stack>
      </Form>
      {failure && (
        <Alert color={failure === 'Stopped.' ? 'gray' : 'red'} role="alert">
          {failure}
        </Alert>
      )}
      {isRunning && !answer && (
        <Text size="sm" c="dimmed" role="status">
          Waiting for the answer…
        </Text>
      )}
      {answer && <AnswerView answer={answer} />}
      {target && (
        <details>
          <summary className={classes.summary}>curl</summary>
          <CopyBlock text={curlCommand(request, target, access === 'public')} what="the command" />
        </details>
      )}
      <RecentCalls calls={recent} onPick={(call) => setRequest(pick(call))} />
    </Stack>
  )
}

const pick = ({ method, path, headers, body }: CallRequest): CallRequest => ({ method, path, headers, body })

function RecentCalls({ calls, onPick }: { calls: RecentCall[]; onPick(call: RecentCall): void }) {
  if (calls.length === 0) return null
  return (
    <details>
      <summary className={classes.summary}>Recent calls ({calls.length})</summary>
      <ul className={classes.recent}>
        {calls.map((call) => (
          <li key={call.at}>
            <Button variant="subtle" size="compact-sm" className={classes.pick} onClick={() => onPick(call)}>
              {call.method} {call.path}
            </Button>
            <Text span size="xs" c="dimmed">
              {call.status || 'redirect'} · <TimeAgo at={call.at} />
            </Text>
          </li>
        ))}
      </ul>
    </details>
  )
}
