{{- define "pairofcleats.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pairofcleats.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pairofcleats.labels" -}}
{{ include "pairofcleats.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "pairofcleats.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The names under which the server answers: a request for any other host is refused. */}}
{{- define "pairofcleats.hosts" -}}
{{- $name := include "pairofcleats.name" . -}}
{{- $service := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := concat (list $name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service)) .Values.hosts -}}
{{- if .Values.ingress.enabled -}}
{{- $hosts = append $hosts .Values.ingress.host -}}
{{- end -}}
{{- toJson (uniq $hosts) -}}
{{- end -}}

{{/* The settings of the server, as JSON; those of `environment` replace the chart's. */}}
{{- define "pairofcleats.environment" -}}
{{- $settings := dict
  "PAIROFCLEATS_ACCESS__REQUIRED" "always"
  "PAIROFCLEATS_INDEXING__ROOTS" "[\"/repositories\"]"
  "PAIROFCLEATS_SERVER__HOSTS" (include "pairofcleats.hosts" .)
  "PAIROFCLEATS_SERVER__BEHIND_PROXY" (toString .Values.ingress.enabled)
  "PAIROFCLEATS_SERVER__TRUSTED_PROXIES" (toJson .Values.trustedProxies)
  "PAIROFCLEATS_FRESHNESS__WATCH" "indexed"
  "PAIROFCLEATS_FRESHNESS__EVERY_MS" "3600000"
  "PAIROFCLEATS_LOG__FORMAT" "json"
-}}
{{- toJson (mergeOverwrite $settings .Values.environment) -}}
{{- end -}}

{{/* The containers of the pod differ only in what they run: same image, settings, privileges and volumes. */}}
{{- define "pairofcleats.container" -}}
image: {{ include "pairofcleats.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
env:
  - name: DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ required "database.existingSecret names the Secret with the address of the database" .Values.database.existingSecret | quote }}
        key: {{ .Values.database.key | quote }}
  {{- range $name, $value := include "pairofcleats.environment" . | fromJson }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - name: projects
    mountPath: /var/lib/pairofcleats/projects
  - name: mirrors
    mountPath: /var/lib/pairofcleats/mirrors
  - name: tmp
    mountPath: /tmp
  {{- if .Values.repositories.volume }}
  - name: repositories
    mountPath: /repositories
    readOnly: true
  {{- end }}
{{- end -}}
