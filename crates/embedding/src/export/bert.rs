//! The graph of a BERT encoder with mean pooling: token ids to unit vectors.
//!
//! Merged Q, K and V products, one transpose, Add + LayerNormalization (the fused skip variant is
//! 2.5 times slower on a CPU), fp16 word table. No mask except in the kinds for tests and benchmarks: every row of a batch has
//! the same length.

use prost::Message;
use serde::Deserialize;

use super::calibration::Calibration;
use super::graph::{Graph, MICROSOFT, Op, Value, tensor_info};
use super::onnx_proto::{ElementType, ModelProto, OperatorSetIdProto};
use super::quantise;
use super::weights::{Matrix, Weights};
use super::{ExportError, GraphKind};

const OPSET: i64 = 20;
const IR_VERSION: i64 = 10;
const F32: i64 = ElementType::F32 as i64;

/// The sizes of the encoder, as the manifest states them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Width of the residual stream, and of a vector.
    pub hidden: usize,
    /// Width inside the feed-forward part.
    pub intermediate: usize,
    /// Attention heads per layer.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Rows of the word table.
    pub vocabulary: usize,
    /// Rows of the position table.
    pub positions: usize,
    /// Epsilon of the layer norms.
    pub norm_epsilon: f32,
}

/// Builds the graph and serialises it.
pub(super) fn build(
    weights: &Weights<'_>,
    architecture: &Architecture,
    calibration: &Calibration,
    kind: GraphKind,
) -> Result<Vec<u8>, ExportError> {
    let mut bert = Bert { weights, sizes: architecture, calibration, kind, graph: Graph::default() };
    let masked = matches!(kind, GraphKind::Fp32Masked | GraphKind::Fp32Tokens);
    let mask = masked.then(|| bert.mask());
    let mut x = bert.embeddings()?;
    for layer in 0..architecture.layers {
        x = bert.attention(layer, &x, mask.as_ref())?;
        x = bert.feed_forward(layer, &x)?;
    }
    let mut inputs = vec![tensor_info("input_ids", ElementType::I64, &["batch", "seq"])];
    if mask.is_some() {
        inputs.push(tensor_info("attention_mask", ElementType::I64, &["batch", "seq"]));
    }
    let width = architecture.hidden.to_string();
    let outputs = if kind == GraphKind::Fp32Tokens {
        inputs.push(tensor_info("token_type_ids", ElementType::I64, &["batch", "seq"]));
        bert.graph.add_named(Op::new("Identity", &[&x]), vec!["last_hidden_state".to_owned()]);
        vec![tensor_info("last_hidden_state", ElementType::F32, &["batch", "seq", &width])]
    } else {
        bert.pool(&x, mask.as_ref());
        vec![tensor_info("sentence_embedding", ElementType::F32, &["batch", &width])]
    };
    let opset = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "pairofcleats".to_owned(),
        graph: Some(bert.graph.finish(&calibration.model, inputs, outputs)),
        opset_import: vec![opset("", OPSET), opset(MICROSOFT, 1)],
    };
    Ok(model.encode_to_vec())
}

struct Bert<'a> {
    weights: &'a Weights<'a>,
    sizes: &'a Architecture,
    calibration: &'a Calibration,
    kind: GraphKind,
    graph: Graph,
}

/// The mask in the two forms that are used: 1 or 0 per token, and the value added to attention scores.
struct Mask {
    present: Value,
    bias: Value,
}

impl Bert<'_> {
    /// Word + position + token type (always 0, so its row is folded into the positions), normalised.
    fn embeddings(&mut self) -> Result<Value, ExportError> {
        let hidden = self.sizes.hidden;
        let token_types = self.weights.values("embeddings.token_type_embeddings.weight", &[2, hidden])?;
        let table = [self.sizes.positions, hidden];
        let mut positions = self.weights.values("embeddings.position_embeddings.weight", &table)?;
        for row in positions.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&token_types).for_each(|(position, kind)| *position += kind);
        }
        let table = [self.sizes.vocabulary, hidden];
        let words = self.weights.values("embeddings.word_embeddings.weight", &table)?;

        let graph = &mut self.graph;
        let axis0 = graph.i64s("axis0", &[0]);
        let length = graph.add(Op::new("Shape", &["input_ids"]).int("start", 1).int("end", 2));
        let positions = graph.f32s("embeddings.position", &[self.sizes.positions, hidden], &positions);
        let positions = graph.add(Op::new("Slice", &[&positions, &axis0, &length, &axis0]));
        let positions = graph.add(Op::new("Unsqueeze", &[&positions, &axis0]));
        let words = graph.f16s("embeddings.word", &table, &words);
        let words = graph.add(Op::new("Gather", &[&words, "input_ids"]));
        let words = graph.add(Op::new("Cast", &[&words]).int("to", F32));
        self.add_and_norm(&words, &positions, "embeddings.LayerNorm")
    }

    fn mask(&mut self) -> Mask {
        let graph = &mut self.graph;
        let present = graph.add(Op::new("Cast", &["attention_mask"]).int("to", F32));
        let one = graph.f32s("one", &[], &[1.0]);
        let absent = graph.add(Op::new("Sub", &[&one, &present]));
        let minus = graph.f32s("masked_score", &[], &[-10_000.0]);
        let bias = graph.add(Op::new("Mul", &[&absent, &minus]));
        let axes = graph.i64s("axes12", &[1, 2]);
        let bias = graph.add(Op::new("Unsqueeze", &[&bias, &axes]));
        Mask { present, bias }
    }

    fn attention(&mut self, layer: usize, x: &str, mask: Option<&Mask>) -> Result<Value, ExportError> {
        let hidden = self.sizes.hidden;
        let head = hidden / self.sizes.heads;
        let prefix = format!("encoder.layer.{layer}.attention");
        let parts = ["query", "key", "value"].map(|part| format!("{prefix}.self.{part}"));
        let qkv = self.linear(&format!("l{layer}.qkv"), x, &parts, hidden, hidden)?;

        let graph = &mut self.graph;
        let [heads_, head_] = [self.sizes.heads, head].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let split_shape = graph.i64s("split_shape", &[0, 0, 3, heads_, head_]);
        let qkv = graph.add(Op::new("Reshape", &[&qkv, &split_shape]));
        let qkv = graph.add(Op::new("Transpose", &[&qkv]).ints("perm", &[2, 0, 3, 1, 4]));
        let parts = graph.add_triple(Op::new("Split", &[&qkv]).int("axis", 0).int("num_outputs", 3));
        let axis0 = graph.i64s("axis0", &[0]);
        let [q, k, v] = parts.map(|part| graph.add(Op::new("Squeeze", &[&part, &axis0])));
        #[expect(clippy::cast_precision_loss, reason = "a head is a few dozen wide")]
        let scale = 1.0 / (head as f32).sqrt();
        let mut scores =
            graph.add(Op::microsoft("FusedMatMul", &[&q, &k]).int("transB", 1).float("alpha", scale));
        if let Some(mask) = mask {
            scores = graph.add(Op::new("Add", &[&scores, &mask.bias]));
        }
        let shares = graph.add(Op::new("Softmax", &[&scores]).int("axis", -1));
        let context = graph.add(Op::new("MatMul", &[&shares, &v]));
        let context = graph.add(Op::new("Transpose", &[&context]).ints("perm", &[0, 2, 1, 3]));
        let merged_shape = graph.i64s("merged_shape", &[0, 0, heads_ * head_]);
        let context = graph.add(Op::new("Reshape", &[&context, &merged_shape]));

        let output = [format!("{prefix}.output.dense")];
        let y = self.linear(&format!("l{layer}.o"), &context, &output, hidden, hidden)?;
        self.add_and_norm(&y, x, &format!("{prefix}.output.LayerNorm"))
    }

    fn feed_forward(&mut self, layer: usize, x: &str) -> Result<Value, ExportError> {
        let (hidden, wide) = (self.sizes.hidden, self.sizes.intermediate);
        let prefix = format!("encoder.layer.{layer}");
        let up = [format!("{prefix}.intermediate.dense")];
        let y = self.linear(&format!("l{layer}.i"), x, &up, hidden, wide)?;
        let y = self.graph.add(Op::new("Gelu", &[&y]));
        let down = [format!("{prefix}.output.dense")];
        let y = self.linear(&format!("l{layer}.d"), &y, &down, wide, hidden)?;
        self.add_and_norm(&y, x, &format!("{prefix}.output.LayerNorm"))
    }

    /// `x · W + b`, where W and b are the parts side by side, each `inputs` to `outputs` wide.
    fn linear(
        &mut self,
        name: &str,
        x: &str,
        parts: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<Value, ExportError> {
        let weights = self.weights;
        let matrix = |part: &String| weights.linear(&format!("{part}.weight"), inputs, outputs);
        let mut weight = Matrix::beside(&parts.iter().map(matrix).collect::<Result<Vec<_>, _>>()?);
        let bias = |part: &String| weights.values(&format!("{part}.bias"), &[outputs]);
        let bias = parts.iter().map(bias).collect::<Result<Vec<_>, _>>()?.concat();

        let graph = &mut self.graph;
        let bias = graph.f32s(&format!("{name}.bias"), &[weight.columns], &bias);
        let dims = [weight.rows, weight.columns];
        if self.kind != GraphKind::Int8 {
            let weight = graph.f32s(&format!("{name}.weight"), &dims, &weight.values);
            let y = graph.add(Op::new("MatMul", &[x, &weight]));
            return Ok(graph.add(Op::new("Add", &[&y, &bias])));
        }
        let input = self.calibration.of(name, inputs)?;
        quantise::smooth(&mut weight, input);
        let quantised = quantise::by_column(&weight);
        let multipliers = quantise::channel_multipliers(inputs, input);
        let multipliers = graph.f32s(&format!("{name}.smooth"), &[inputs], &multipliers);
        let x = graph.add(Op::new("Mul", &[x, &multipliers]));
        let step = graph.f32s(&format!("{name}.input_scale"), &[], &[input.scale]);
        let zero = graph.u8_scalar(&format!("{name}.input_zero"), input.zero_point);
        let x = graph.add(Op::new("QuantizeLinear", &[&x, &step, &zero]));
        let scales = graph.f32s(&format!("{name}.scale"), &[weight.columns], &quantised.scales);
        let weight = graph.i8s(&format!("{name}.weight"), &dims, &quantised.values);
        let operands = [&x, &weight, &step, &scales, &zero, "", &bias].map(AsRef::as_ref);
        Ok(graph.add(Op::microsoft("MatMulIntegerToFloat", &operands)))
    }

    fn add_and_norm(&mut self, y: &str, x: &str, norm: &str) -> Result<Value, ExportError> {
        let hidden = self.sizes.hidden;
        let gain = self.weights.values(&format!("{norm}.weight"), &[hidden])?;
        let bias = self.weights.values(&format!("{norm}.bias"), &[hidden])?;
        let graph = &mut self.graph;
        let gain = graph.f32s(&format!("{norm}.weight"), &[hidden], &gain);
        let bias = graph.f32s(&format!("{norm}.bias"), &[hidden], &bias);
        let sum = graph.add(Op::new("Add", &[y, x]));
        let norm = Op::new("LayerNormalization", &[&sum, &gain, &bias]).int("axis", -1);
        Ok(graph.add(norm.float("epsilon", self.sizes.norm_epsilon)))
    }

    /// Mean over the tokens, then unit length.
    fn pool(&mut self, x: &str, mask: Option<&Mask>) {
        let graph = &mut self.graph;
        let axis1 = graph.i64s("axis1", &[1]);
        let mean = if let Some(mask) = mask {
            let row = graph.add(Op::new("Unsqueeze", &[&mask.present, &axis1]));
            let sum = graph.add(Op::new("MatMul", &[&row, x]));
            let sum = graph.add(Op::new("Squeeze", &[&sum, &axis1]));
            let count = graph.add(Op::new("ReduceSum", &[&mask.present, &axis1]).int("keepdims", 1));
            graph.add(Op::new("Div", &[&sum, &count]))
        } else {
            graph.add(Op::new("ReduceMean", &[x, &axis1]).int("keepdims", 0))
        };
        let norm = graph.add(Op::new("ReduceL2", &[&mean, &axis1]).int("keepdims", 1));
        let tiny = graph.f32s("tiny", &[], &[1e-12]);
        let norm = graph.add(Op::new("Max", &[&norm, &tiny]));
        graph.add_named(Op::new("Div", &[&mean, &norm]), vec!["sentence_embedding".to_owned()]);
    }
}
